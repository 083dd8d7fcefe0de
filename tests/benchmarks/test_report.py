"""A result holds its own table and command."""

import json
import re

from tests.benchmarks.conftest import BENCHMARKS
from tests.helpers.fresh_process import ROOT, run_python

RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))
# A script that is gone is named with the last commit that has it.
LAST = "git checkout [0-9a-f]{7}"


def is_here(name):
    return (BENCHMARKS / f"{name}.py").exists()


def test_every_published_result_is_reported(tmp_path):
    printed = run_python(BENCHMARKS / "report.py", *RESULTS, cwd=tmp_path)
    for path in RESULTS:
        result = json.loads(path.read_text(encoding="utf-8"))
        name = result["benchmark"]
        command = rf"python benchmarks/{name}\.py --"
        wanted = command if is_here(name) else f"{LAST}; {command}"
        assert re.match(wanted, result["command"]), path.name
        assert f"{result['environment']['machine']}, " in printed
        assert f"{result['table'][-1]}\n\n```\n{result['command']}\n```" in printed


def test_published_tables_are_of_the_script_that_is_here(benchmark):
    for path in RESULTS:
        result = json.loads(path.read_text(encoding="utf-8"))
        if is_here(result["benchmark"]):
            table = benchmark(result["benchmark"]).table(result)
            assert table.splitlines() == result["table"], path.name


def test_commands_of_pages_are_here():
    """Or at the commit that the block begins with."""
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S):
            now, *_ = re.split(rf"^{LAST}$", block, maxsplit=1, flags=re.M)
            scripts = re.findall(r"python benchmarks/([\w/]+)\.py", now)
            assert all(map(is_here, scripts)), (page.name, scripts)
            found += scripts
    assert found
