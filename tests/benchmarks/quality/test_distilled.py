"""Vectors of `distill` beside fastText's of the same text."""

import json
import lzma
from pathlib import Path

import pytest

import keras_elmo

pytestmark = [pytest.mark.graph, pytest.mark.slow]


def test_table(quality, data, encoder, monkeypatch, tmp_path, capsys):
    """Every kind of vectors has its scores, of the words that the text has."""
    pytest.importorskip("gensim")
    distilled = quality("distilled")
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    text = tmp_path / "text.txt.xz"
    with lzma.open(text, "wt", encoding="utf-8") as file:
        file.write("the bank flows to a river of love , sex and tiger cat\n" * 40)
    read = []
    monkeypatch.setattr(keras_elmo, "load", lambda source: encoder)
    distill = keras_elmo.distill
    monkeypatch.setattr(
        keras_elmo,
        "distill",
        lambda model, corpus, out: (
            read.append(Path(corpus).read_text(encoding="utf-8")),
            distill(model, corpus, out),
        ),
    )
    out = tmp_path / "result.json"
    arguments = ["--corpus", str(text), "--words", "100", "--epochs", "1"]
    arguments += ["--seeds", "1", "--scores", str(tmp_path / "scores.json")]
    monkeypatch.setattr(distilled, "_PAIRS", {"WordSim-353": "wordsim353.tsv"})
    distilled.main([*arguments, "--out", str(out)])
    assert len(read[0].splitlines()) == 8
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["num_words"] == 8 * 13
    names = ["distill", "fastText, 1 epochs"]
    names += [f"{names[1]}, and unknown words by their parts", "ELMo"]
    assert list(result["rows"]) == names
    for name, row in result["rows"].items():
        assert 0 <= row["ewt"] <= 100 and 0 <= row["sst2"] <= 100
        assert -100 <= row["WordSim-353"] <= 100
        assert ("seconds" in row and row["seconds"] is not None) == (name in names[:2])
    assert capsys.readouterr().out.count("\n| ") >= 5
