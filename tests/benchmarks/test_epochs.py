"""The benchmark of many epochs, on a model of small size."""

import json

import pytest

import keras_elmo
from tests.models.small import random_encoder


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    model = tmp_path / "model"
    model.mkdir()
    keras_elmo.save_published_weights(
        random_encoder(), model / "options.json", model / "weights.hdf5"
    )
    corpus, out = tmp_path / "labelled.txt", tmp_path / "epochs.json"
    corpus.write_text("1 a warm film\n0 dull\n1 a funny film\n", encoding="utf-8")
    arguments = ["--model", model, "--corpus", corpus, "--epochs", 2, "--out", out]
    benchmark("epochs").main(list(map(str, arguments)))
    measured = json.loads(out.read_text(encoding="utf-8"))["measured"]
    assert measured["sentences"] == 3
    assert measured["difference_of_shared"] < 1e-5
    assert measured["difference_of_trained"] < 1e-5
    assert "| On text, s | On layers, s |" in capsys.readouterr().out
