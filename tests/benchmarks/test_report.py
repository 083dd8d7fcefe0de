"""A result holds its own table and command."""

import json

from tests.benchmarks.conftest import BENCHMARKS
from tests.fresh_process import run_python

RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))


def test_every_published_result_is_reported(tmp_path):
    printed = run_python(BENCHMARKS / "report.py", *RESULTS, cwd=tmp_path)
    for path in RESULTS:
        result = json.loads(path.read_text(encoding="utf-8"))
        command = f"python benchmarks/{result['benchmark']}.py --"
        assert result["command"].startswith(command)
        assert f"{result['environment']['machine']}, " in printed
        assert f"{result['table'][-1]}\n\n```\n{result['command']}\n```" in printed


def test_published_tables_are_of_the_script_that_is_here(benchmark):
    for path in RESULTS:
        result = json.loads(path.read_text(encoding="utf-8"))
        table = benchmark(result["benchmark"]).table(result)
        assert table.splitlines() == result["table"], path.name
