"""The whole benchmark at tiny size: its rows, and what is kept between two calls."""

import json
import lzma

import pytest

from tests.training.runs import NAMES, write_text

TAGS = ("PROPN", "VERB", "DET", "NOUN", "ADP", "PROPN", "PUNCT")


def write_treebank(folder, lines):
    folder.mkdir()
    block = "\n\n".join(
        "\n".join(
            "\t".join([str(place), word, "_", tag])
            for place, (word, tag) in enumerate(zip(line.split(), TAGS, strict=True), 1)
        )
        for line in lines
    )
    for part in ("train", "dev"):
        with lzma.open(folder / f"{part}.conllu.xz", "wt", encoding="utf-8") as file:
            file.write(block + "\n\n")
    return folder


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    text = write_text(tmp_path / "text.txt", repeats=20)
    lines = text.read_text(encoding="utf-8").splitlines()
    treebank = write_treebank(tmp_path / "treebank", lines[: 6 * len(NAMES)])
    out = tmp_path / "low_resource.json"
    paths = ["--text", text, "--heldout", text, "--treebank", treebank]
    paths += ["--runs", tmp_path / "runs", "--out", out]
    options = "--words 200 400 --preset tiny --dropout 0.0 --vocabulary-size 12"
    options += " --num-sampled 8 --steps 10 --sentences 20"
    low_resource = benchmark("low_resource")
    for _ in range(2):  # the second call finds its runs
        low_resource.main([*options.split(), *map(str, paths)])
    runs = json.loads(out.read_text(encoding="utf-8"))["runs"]
    assert [run["words"] for run in runs] == [0, 200, 400]
    for run in runs:
        # Every word has one tag, so letters alone tell it.
        assert run["all_layers"] >= run["word_alone"] > 50
    for run in runs[1:]:
        assert 1 < run["perplexity"] < 24
        assert 0 < run["unknown_rate"] < 1
        assert 0 < run["best_step"] <= 10
        assert run["words_read"] > 0
    capsys.readouterr()
    benchmark("report").main([str(out)])
    assert f"python benchmarks/low_resource.py {options}" in capsys.readouterr().out
