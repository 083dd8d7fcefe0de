"""The whole benchmark at tiny size: it runs the recipe that it names."""

import json

import pytest

from tests.training.runs import write_text


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    text = write_text(tmp_path / "text.txt", repeats=20)
    out = tmp_path / "recipes.json"
    options = "--recipes adam-wide-filters --minutes 0.01 --preset tiny"
    options += " --vocabulary-size 17 --num-sampled 8 --dtype float32"
    arguments = ["--text", text, "--heldout", text, "--out", out]
    recipes = benchmark("recipes")
    recipes.main([*options.split(), *map(str, arguments)])
    (run,) = json.loads(out.read_text(encoding="utf-8"))["runs"]
    assert run["recipe"] == "adam-wide-filters"
    assert run["steps"] >= 1 and run["words"] > 0 and run["seconds"] > 0
    # After so few updates, about that of a guess among 17 words.
    assert 1 < run["perplexity"] < 34
    widths = [width for width, _ in run["options"]["char_cnn"]["filters"]]
    assert widths == [1, 2, 3, 4, 5, 6, 7, 9]
    assert run["options"]["lstm"]["dim"] == 64
    capsys.readouterr()
    benchmark("report").main([str(out)])
    reported = capsys.readouterr().out
    assert f"python benchmarks/recipes.py {options}" in reported
    assert "| adam-wide-filters |" in reported
