import json
import random

import pytest

from tests.training.runs import write_text


@pytest.mark.parametrize(("suffix", "place"), [(".hdf5", 0), (".parquet", 16)])
def test_the_index_is_aimed_at_where_it_is_written(suffix, place, benchmark):
    kill_embed = benchmark("kill_embed")
    aims = [name for name, *_ in kill_embed.aims(suffix, 20, random.Random(0))]
    assert aims[place : place + 4] == ["index"] * 4
    del aims[place : place + 4]
    assert len(aims) == 16 and set(aims) <= set(kill_embed._PHASES)


@pytest.mark.benchmark
def test_a_file_that_was_killed_ends_as_one_that_was_not(benchmark, tmp_path):
    """Real processes; of both formats in `test_embed_file.py`, without processes."""
    out = tmp_path / "kill.json"
    text = write_text(tmp_path / "text.txt", repeats=100)
    options = ["--corpus", text, "--lines", 2000, "--section", 256, "--kills", 2]
    options += ["--formats", "hdf5"]
    benchmark("kill_embed").main([*map(str, options), "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    for run in result["runs"]:
        assert run["identical"]
        lines = [kill["lines"] for kill in run["killed"]]
        assert len(lines) == 2 and lines == sorted(lines)
    assert benchmark("kill_embed").table(result).count("byte-identical") == 1
