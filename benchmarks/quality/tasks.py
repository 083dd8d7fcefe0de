"""`Tagger` and `TextClassifier` on public data sets, with three kinds of vectors."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import common
import keras
import numpy as np
from measured_model import MeasuredModel
from scores import Job, Result
from task_data import DATA_SETS

import keras_elmo

VECTORS = ("static", "elmo", "both")


def key(name: str, vectors: str, seed: int) -> str:
    """Returns the name of the score of a task below one of `VECTORS`."""
    return f"task, {name}, {vectors}, seed {seed}"


def jobs(
    model: MeasuredModel,
    names: Sequence[str],
    vectors: Sequence[str],
    seeds: int | None = None,
    **fit: Any,
) -> Iterator[Job]:
    """Yields a training for each task of the model's language, vectors and seed.

    `seeds`, and `fit`, arguments of each head's `fit`, are in place of those of the
    data set.
    """
    for name in names:
        data_set = DATA_SETS[name]
        if data_set.language != model.language:
            continue
        settings = data_set.model | data_set.fit | fit | {"decay": data_set.decay}
        for kind in vectors:
            if kind != "elmo" and model.static is None:
                continue
            conditions = {"vectors": model.digest(kind), "settings": settings}
            for seed in range(seeds or data_set.seeds):
                keys, arguments = (key(name, kind, seed),), (name, kind, seed, fit)
                yield Job(keys, conditions, measure, arguments, data_set.is_large)


def measure(
    measured: MeasuredModel, name: str, vectors: str, seed: int, fit: dict[str, Any]
) -> list[Result]:
    """Trains a head; returns its scores, the seconds and the size."""
    data_set = DATA_SETS[name]
    keras.utils.set_random_seed(seed)
    train, dev = map(data_set.rows, data_set.paths())
    static = None if vectors == "elmo" else measured.static
    elmo = _no_elmo(measured) if vectors == "static" else measured.elmo
    model: Any
    if data_set.read:
        model = keras_elmo.TextClassifier(elmo, static=static, **data_set.model)
    else:
        model = keras_elmo.Tagger(elmo, static=static, **data_set.model)
    fit = data_set.fit | fit
    if data_set.decay:
        steps = fit["epochs"] * -(-len(train[0]) // fit["batch_size"])
        rate = keras.optimizers.schedules.CosineDecay(data_set.decay, steps)
        model.compile(keras.optimizers.Adam(rate), model.loss, metrics=["accuracy"])
    began = time.monotonic()
    history = model.fit(*train, validation_data=dev, verbose=2, **fit).history
    seconds = time.monotonic() - began
    scores = model.evaluate(*dev)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        model.save(path)
        num_bytes = path.stat().st_size
    by_epoch = history.get("val_f1", history["val_accuracy"])
    result = {
        "score": 100 * scores.get("f1", scores["accuracy"]),
        "scores": {k: v for k, v in scores.items() if not isinstance(v, dict)},
        "by_epoch": [round(score, 4) for score in by_epoch],
        "seconds": round(seconds, 1),
        "parameters": sum(int(np.prod(w.shape)) for w in model.trainable_weights),
        "bytes": num_bytes,
        "machine": common.environment()["machine"],
    }
    return [result]


def _no_elmo(measured: MeasuredModel) -> keras_elmo.ElmoEmbedding:
    """Returns a layer with few units that are always 0."""
    config = keras_elmo.ElmoConfig(
        filters=((1, 1),), char_embedding_units=1, units=1, projection_units=1
    )
    encoder = keras_elmo.Encoder(config, tokenizer=measured.elmo.tokenizer)
    elmo = keras_elmo.ElmoEmbedding(encoder)
    for mix in elmo.mixes:
        mix.gamma.assign(0)
        mix.trainable = False
    return elmo
