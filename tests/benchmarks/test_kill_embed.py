import json
import random

import pytest

from tests.training.runs import write_text


def test_aims(benchmark):
    """The end of a file is there once, and is aimed at last."""
    phases = benchmark("kill_embed")._PHASES
    once = ["finish", "rename"]
    aims = benchmark("killing").aims(phases, 20, random.Random(0), once)
    assert aims[16:] == ["finish", "finish", "rename", "rename"]
    assert set(aims[:16]) <= set(phases) - set(once)


@pytest.mark.benchmark
def test_a_file_that_was_killed_ends_as_one_that_was_not(benchmark, tmp_path):
    """Real processes; of both formats in `test_embed_file.py`, without processes."""
    out = tmp_path / "kill.json"
    text = write_text(tmp_path / "text.txt", repeats=100)
    options = ["--corpus", text, "--lines", 2000, "--part", 256, "--kills", 2]
    options += ["--formats", "hdf5"]
    benchmark("kill_embed").main([*map(str, options), "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    for run in result["runs"]:
        assert run["identical"]
        parts = [kill["parts"] for kill in run["killed"]]
        assert len(parts) == 2 and parts == sorted(parts)
    assert benchmark("kill_embed").table(result).count("byte-identical") == 1
