"""`Tagger` and `TextClassifier` on public data sets, with three kinds of vectors."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import keras
import numpy as np
from measured_model import MeasuredModel
from scores import Scores
from task_data import DATA_SETS

import keras_elmo

VECTORS = ("static", "elmo", "both")


class Run(NamedTuple):
    """One training: `vectors` is one of `VECTORS`, `head` `"crf"` or `"softmax"`."""

    data_set: str
    vectors: str
    head: str
    seed: int

    @property
    def key(self) -> str:
        """The name of the run's score."""
        return f"task, {self.data_set}, {self.vectors}, {self.head}, seed {self.seed}"


def heads(data_set: str) -> tuple[str, ...]:
    """Returns the heads that a data set is measured with."""
    # 1,067 tags are too many for a CRF; a label of a text needs none.
    softmax_only = DATA_SETS[data_set].read or data_set == "gsd-xpos"
    return ("softmax",) if softmax_only else ("crf", "softmax")


def runs(data_sets: Sequence[str], vectors: Sequence[str], seeds: int) -> Iterator[Run]:
    """Yields every run of some data sets."""
    for data_set in data_sets:
        for head in heads(data_set):
            for kind in vectors:
                for seed in range(seeds):
                    yield Run(data_set, kind, head, seed)


def measure(
    wanted: Sequence[Run],
    model: MeasuredModel,
    scores: Scores,
    say: Callable[[str], None],
    **fit: Any,
) -> None:
    """Adds the scores of a language's runs that are missing.

    `fit` are arguments of each model's `fit`, in place of those of the data set.
    """
    for run in wanted:
        data_set = DATA_SETS[run.data_set]
        if data_set.language != model.language:
            continue
        if run.vectors != "elmo" and model.static is None:
            continue
        settings = data_set.model | data_set.fit | {"decay": data_set.decay}
        conditions = {"vectors": model.digest(run.vectors), "settings": settings}
        if not scores.has(run.key, **conditions):
            result = _measure(run, model, fit)
            scores[run.key] = conditions | result
            say(f"{run.key}: {result['score']:.2f}")


def _measure(run: Run, measured: MeasuredModel, fit: dict[str, Any]) -> dict[str, Any]:
    """Trains a model; returns its scores, the seconds and the size."""
    data_set = DATA_SETS[run.data_set]
    keras.utils.set_random_seed(run.seed)
    train, dev = map(data_set.rows, data_set.paths())
    static = None if run.vectors == "elmo" else measured.static
    elmo = _no_elmo(measured) if run.vectors == "static" else measured.elmo
    model: Any
    if data_set.read:
        model = keras_elmo.TextClassifier(elmo, static=static, **data_set.model)
    else:
        crf = run.head == "crf"
        model = keras_elmo.Tagger(elmo, static=static, crf=crf, **data_set.model)
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
    return {
        "score": 100 * scores.get("f1", scores["accuracy"]),
        "scores": {k: v for k, v in scores.items() if not isinstance(v, dict)},
        "by_epoch": [round(score, 4) for score in by_epoch],
        "seconds": round(seconds, 1),
        "parameters": sum(int(np.prod(w.shape)) for w in model.trainable_weights),
        "bytes": num_bytes,
        "machine": common.environment()["machine"],
    }


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
