"""A run is measured once, with stored layers as with computed ones."""

import json

import numpy as np
import pytest

import keras_elmo

pytestmark = [
    pytest.mark.graph,
    pytest.mark.slow,
    pytest.mark.usefixtures("eagerly"),
]


@pytest.fixture
def run(quality, data, encoder, tmp_path, monkeypatch):
    """Runs the script, and returns the lines of its results."""
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    monkeypatch.setattr(keras_elmo, "load", lambda source: encoder)
    static = tmp_path / "static.txt"
    static.write_text("bank 1 0\nriver 0 1\nflows 1 1\n", encoding="utf-8")
    results = tmp_path / "results.jsonl"

    def run(data_set, vectors, *more):
        arguments = ["--data-set", data_set, "--vectors", vectors, "--epochs", "1"]
        paths = ["--static", str(static), "--results", str(results)]
        quality("tasks_heads").main([*arguments, *paths, *more])
        return [json.loads(line) for line in results.read_text().splitlines()]

    return run


def test_a_run_that_is_there_is_not_repeated(run, tmp_path):
    cache = ["--cache", str(tmp_path / "layers")]
    (first,) = run("wnut17", "both", "--epochs", "2", *cache)
    assert len(first["by_epoch"]) == 2 and first["head"] == "crf"
    assert first["scores"]["f1"] == max(first["by_epoch"])
    assert run("wnut17", "both", "--epochs", "2", *cache) == [first]
    _, second = run("wnut17", "both", "--seed", "1", "--head", "softmax", *cache)
    assert second["seed"] == 1


@pytest.mark.parametrize("data_set", ["ewt-upos", "nsmc"])
def test_stored_layers(run, tmp_path, data_set):
    asked = data_set, "elmo", "--head", "softmax"
    stored = run(*asked, "--cache", str(tmp_path / "layers"))[-1]
    (tmp_path / "results.jsonl").unlink()
    computed = run(*asked)[-1]
    assert stored["by_epoch"] == computed["by_epoch"]
    for name in ("accuracy", "micro_f1"):
        if name in stored["scores"]:
            np.testing.assert_allclose(stored["scores"][name], computed["scores"][name])


@pytest.mark.parametrize("data_set", ["gsd-upos", "sst2"])
def test_static_vectors_alone(run, data_set):
    (result,) = run(data_set, "static", "--head", "softmax")
    assert result["elmo"] is None and result["head"] == "softmax"


def test_the_table_has_the_mean_of_each_head(quality, tmp_path, monkeypatch):
    """Short runs of this script, as above, are left out."""
    page = quality("page")
    run = {"data_set": "wnut17", "head": "crf", "epochs": None, "train": None}
    run |= {"seconds": {"training": 90.4}, "bytes": 52e6}
    runs = [
        {**run, "vectors": "elmo", "scores": {"f1": 0.4, "accuracy": 0.9}},
        {**run, "vectors": "elmo", "scores": {"f1": 0.5, "accuracy": 0.9}},
        {**run, "vectors": "both", "scores": {"f1": 0.6, "accuracy": 0.9}},
        {**run, "vectors": "both", "scores": {"f1": 0.1}, "epochs": 2},
    ]
    monkeypatch.setattr(page, "_HEADS", tmp_path / "heads.jsonl")
    page._HEADS.write_text("\n".join(map(json.dumps, runs)))
    _, rows = page._heads(page.Found({}, 3), "")
    title = page.TITLES["wnut17"]
    cells = ["", "45.00 ± 7.07", "60.00", "90", "52"]
    assert rows == [[title, "biLSTM, CRF", *cells]]
