"""The frozen biLM against a trained one, in small, and a rate for each layer."""

import json

import keras
import numpy as np
import pytest

import keras_elmo

pytestmark = pytest.mark.graph


def test_each_weight_has_its_rate(quality):
    weights = [
        keras.Variable(np.ones(3), dtype="float32", name=name)
        for name in ("top", "below")
    ]
    factors = {weights[1].path: 0.25}
    optimizer = quality("fine_tuning").LayerwiseAdam(0.1, factors)
    optimizer.apply([np.full(3, 5.0, "float32")] * 2, weights)
    # The first update of Adam is the rate, whatever the gradient.
    for weight, update in zip(weights, (0.1, 0.025), strict=True):
        np.testing.assert_allclose(1 - np.array(weight), update, rtol=1e-5)


@pytest.mark.benchmark
def test_the_whole_benchmark(quality, data, encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_ELMO_DATA", str(data))
    module, tasks = quality("fine_tuning"), quality("data_sets")
    data_set = tasks.DATA_SETS["nsmc"].__dict__
    monkeypatch.setitem(data_set, "training", tasks.Training(1, batch_size=8))
    keras_elmo.save_published_weights(
        encoder, tmp_path / "options.json", tmp_path / "weights.hdf5"
    )
    arguments = ["--elmo", f"ko={tmp_path}", "--tasks", "nsmc", "--seeds", "1"]
    out = tmp_path / "out.json"
    module.main([*arguments, "--size", "16", "--epochs", "1", "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    ways = ["frozen", "frozen, longer", "at once", "from the top"]
    assert [run["way"] for run in result["runs"]] == ways
    assert all(0 <= run["score"] <= 100 for run in result["runs"])
    header, _, *rows = result["table"]
    titles = ["Task", *(title for way in ways for title in (way.capitalize(), "s"))]
    assert header == f"| {' | '.join(titles)} |"
    assert len(rows) == 1 and str(tmp_path) not in out.read_text(encoding="utf-8")


def test_layers_are_unfrozen_from_the_top(quality, data, encoder, monkeypatch):
    module, tasks = quality("fine_tuning"), quality("data_sets")
    task = tasks.DATA_SETS["sst2"].read(data, "unicode")
    options = module.common.options(
        None, [], size=16, dtype="float32", epochs=1, learning_rate=0.1
    )
    measured = module._Measurement("sst2", task, encoder, 0, options)
    trained = []

    def fit(model, optimizer, dataset, epochs):
        of_encoder = {weight.path for weight in measured.elmo.encoder.weights}
        paths = of_encoder & {weight.path for weight in model.trainable_weights}
        trained.append((len(paths), {optimizer._factors[path] for path in paths}))

    monkeypatch.setattr(module, "_fit", fit)
    measured._from_the_top()
    numbers, factors = zip(*trained, strict=True)
    assert list(numbers) == sorted(set(numbers))
    assert numbers[-1] == len(encoder.weights)
    falling = [module.FACTOR**-depth for depth in (1, 2, 3)]
    assert factors == tuple(set(falling[:count]) for count in (1, 2, 3))
