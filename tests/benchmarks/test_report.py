"""A result finds its table, and what it was measured with is not imported for that."""

import re

from tests.benchmarks.conftest import BENCHMARKS
from tests.fresh_process import run_python

RESULTS = BENCHMARKS / "results"

_REPORT = "import report; report.main(sys.argv[2:])"
_TABLES = (
    "import importlib\n"
    "for name in sys.argv[2:]:\n"
    "    module = importlib.import_module(name)\n"
    "    print(name, *module.OPTIONS, module.table([])[:3])"
)


def run_light(code, *arguments, cwd):
    """Runs code that finds the benchmarks; it is to import nothing heavy."""
    code = (
        f"import sys; sys.path.insert(0, sys.argv[1])\n{code}\n"
        "heavy = {'jax', 'keras', 'keras_elmo', 'onnxruntime', 'tensorflow'}\n"
        "assert not heavy & sys.modules.keys()"
    )
    return run_python("-c", code, BENCHMARKS, *arguments, cwd=cwd)


def named(path):
    """The benchmarks that a script or a result names."""
    return re.findall(r'"benchmark": "(\w+)"', path.read_text(encoding="utf-8"))


def test_every_published_result_is_reported(tmp_path):
    paths = sorted(RESULTS.glob("*.json"))
    printed = run_light(_REPORT, *paths, cwd=tmp_path)
    commands = re.findall(r"^python benchmarks/(\w+)\.py --", printed, re.MULTILINE)
    assert sorted(commands) == sorted(name for path in paths for name in named(path))


def test_every_benchmark_has_its_table(tmp_path):
    scripts = {path.stem: named(path) for path in BENCHMARKS.glob("*.py")}
    names = [name for name, found in scripts.items() if found]
    assert all(scripts[name] == [name] for name in names)
    lines = run_light(_TABLES, *names, cwd=tmp_path).splitlines()
    for name, line in zip(names, lines, strict=True):
        assert re.fullmatch(rf"{name}( \w+)+ \| \w", line)


def test_results_of_one_benchmark_share_a_table(benchmark, capsys):
    paths = [RESULTS / name for name in ("kill.json", "memory.json", "kill_2.json")]
    benchmark("report").main(list(map(str, paths)))
    printed = capsys.readouterr().out
    assert re.findall(r"^\| (\w+) ", printed, re.MULTILINE) == [
        *("Preset", "tiny", "tiny"),
        *("Preset", "mini", "mini"),
    ]
    assert re.findall(r"benchmarks/(\w+)\.py", printed) == ["kill", "kill", "memory"]
