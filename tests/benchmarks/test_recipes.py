"""The whole benchmark at tiny size: it runs the recipes that it names."""

import json

import pytest

from tests.training.runs import write_text


@pytest.mark.slow
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    text = write_text(tmp_path / "text.txt", repeats=20)
    out = tmp_path / "recipes.json"
    options = "--recipes published adam-wide-filters --minutes 0.01"
    options += " --vocabulary-size 17 --num-sampled 8 --dtype float32"
    arguments = ["--preset", "tiny", "--text", text, "--heldout", text, "--out", out]
    recipes = benchmark("recipes")
    recipes.main([*options.split(), *map(str, arguments)])
    runs = json.loads(out.read_text(encoding="utf-8"))["runs"]
    assert [run["recipe"] for run in runs] == ["published", "adam-wide-filters"]
    for run in runs:
        assert run["steps"] >= 1 and run["seconds"] > 0
        # Better than a guess.
        assert 1 < run["perplexity"] < 17
    widths = [
        [width for width, _ in run["options"]["char_cnn"]["filters"]] for run in runs
    ]
    assert widths == [[1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 9]]
    capsys.readouterr()
    benchmark("report").main([str(out)])
    reported = capsys.readouterr().out
    assert f"python benchmarks/recipes.py {options}" in reported
    assert "| published |" in reported
