"""The parts of an update of a tiny model."""

import json

import pytest

pytestmark = pytest.mark.benchmark

PARTS = ["whole", "character CNN, forwards", "character CNN", "biLM, forwards", "biLM"]
PARTS += ["sampled softmax", "clipping and optimizer", "reading"]


def test_training_parts(benchmark, tmp_path, monkeypatch, capsys):
    parts = benchmark("training_parts")
    monkeypatch.setattr(parts, "_NUM_SAMPLED", 3)
    corpus, out = tmp_path / "corpus.txt", tmp_path / "parts.json"
    corpus.write_text("the heron slept on the bank\n" * 400, encoding="utf-8")
    arguments = ["--corpus", corpus, "--preset", "tiny", "--batches", "1"]
    arguments += ["--repeats", "1", "--dtypes", "float32", "--out", out]
    parts.main(list(map(str, arguments)))
    (row,) = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert list(row["seconds"]) == PARTS
    assert all(seconds > 0 for seconds in row["seconds"].values())
    bounds = row["bounds"]
    assert bounds["biLM"] == pytest.approx(3 * bounds["biLM, forwards"])
    of_parts = sum(
        bounds[part] for part in ("character CNN", "biLM", "sampled softmax")
    )
    assert bounds["whole"] == pytest.approx(of_parts)
    assert "| tiny | float32 | reading |" in capsys.readouterr().out
