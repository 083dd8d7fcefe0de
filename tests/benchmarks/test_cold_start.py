"""The benchmark of the first vectors, on a model of small size."""

import json

import pytest

import keras_elmo
from tests.helpers.small import SMALLER, random_encoder


@pytest.mark.whole
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    model = tmp_path / "model"
    model.mkdir()
    keras_elmo.save_published_weights(
        random_encoder(SMALLER), model / "options.json", model / "weights.hdf5"
    )
    out = tmp_path / "cold_start.json"
    arguments = ["--models", model, "--repeats", 1, "--out", out]
    benchmark("cold_start").main(list(map(str, arguments)))
    result = json.loads(out.read_text(encoding="utf-8"))
    measured = result["measured"]["model"]
    (moments,) = measured["moments"]
    assert 0 < moments["imported"] < moments["loaded"] < moments["embedded"]
    assert len(measured["warm_milliseconds"]) == 90
    assert min(measured["warm_milliseconds"]) > 0
    for epochs in (*measured["epochs"], *result["epochs_of_numbers"]):
        first, second = epochs
        assert first > second > 0
    # Nothing of where the files lay.
    assert str(tmp_path) not in json.dumps(result)
    table = capsys.readouterr().out.strip()
    benchmark("report").main([str(out)])
    reported = capsys.readouterr().out
    assert table in reported
    assert "python benchmarks/cold_start.py --models model --repeats 1" in reported
