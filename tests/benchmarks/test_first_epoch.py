"""The benchmark of the first epoch, on a model of small size."""

import json

import pytest

import keras_elmo
from tests.helpers.fresh_process import ROOT
from tests.helpers.small import SMALLER, random_encoder


@pytest.mark.benchmark
def test_the_whole_benchmark(benchmark, tmp_path, capsys):
    model = tmp_path / "model"
    model.mkdir()
    keras_elmo.save_published_weights(
        random_encoder(SMALLER), model / "options.json", model / "weights.hdf5"
    )
    out = tmp_path / "first_epoch.json"
    arguments = ["--model", model, "--repeats", 1, "--out", out]
    arguments += ["--before", ROOT]
    tasks = ["tagger", "classifier"]
    benchmark("first_epoch").main([*map(str, arguments), "--tasks", *tasks])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [*result["measured"]] == tasks
    for versions in result["measured"].values():
        assert [*versions] == ["before", "now"]
        ((before, first, second, tracing, graphs),) = versions["now"]
        assert first > second > 0
        # Most of the first epoch.
        assert before + first > tracing > 0
        # The same code.
        assert graphs == versions["before"][0][4] > 10
    # Nothing of where the files lay.
    assert str(tmp_path) not in json.dumps(result)
    assert "| Tagger | now |" in capsys.readouterr().out
