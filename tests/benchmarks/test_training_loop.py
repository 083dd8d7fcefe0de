"""The benchmark at tiny size: each block is of the same words in both loops."""

import json

import pytest

from tests.helpers.runs import write_text


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    text = write_text(tmp_path / "text.txt", repeats=9)
    out = tmp_path / "training_loop.json"
    sizes = "--backends tensorflow --vocabulary-size 17 --num-sampled 8"
    sizes += " --batch-tokens 132 --steps 12 --block 3"
    arguments = [*sizes.split(), "--corpus", str(text), "--out", str(out)]
    benchmark("training_loop").main(arguments)
    result = json.loads(out.read_text(encoding="utf-8"))
    (run,) = result["runs"]
    # Every row has eight words; the first block has compiled.
    assert run["compilations"] == 1
    assert 0 <= run["padding"] < 0.1
    assert len(run["words_per_second"]["loop"]) == 3
    assert len(run["words_per_second"]["bare"]) == 3
    assert "| tensorflow | tiny | 12 | 1 |" in capsys.readouterr().out
