"""How long until the first vectors, until the next ones, and until a first epoch ends?

In fresh processes, imports keras_elmo, loads a model and embeds one sentence; then
other sentences, one at a time. In others, `fit` trains a Dense layer on the frozen
biLM, or on numbers, for two epochs of 100 sentences: what an epoch of numbers takes is
Keras's own.

    python benchmarks/cold_start.py --models elmo-en elmo-ko --out cold_start.json
"""

import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
from common import markdown_table

_SENTENCE = "The river rose , and its bank gave way .".split()
_OTHERS = [
    "She opened an account at a bank in the city .",
    "보통 배가 고프면 밥을 먹는다 .",
    "Nobody knew .",
    "The left bank of the stream was covered with reeds , and the right one with "
    "stones that the spring flood had brought down from the hills .",
    "그는 여행에 돈을 많이 썼다 .",
]
# The first ones still make what a shape of its own needs.
_ROUNDS, _ROUNDS_BEFORE = 20, 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        models=(["elmo-en", "elmo-ko"], "names or paths"),
        repeats=5,
    )
    measured = {}
    for model in options.models:
        runs = [_start(model) for _ in range(options.repeats)]
        measured[Path(model).name] = {
            "moments": [run["moments"] for run in runs],
            "warm_milliseconds": [ms for run in runs for ms in run["warm"]],
            "epochs": [_epochs(model) for _ in range(options.repeats)],
        }
    numbers = [_epochs("") for _ in range(options.repeats)]
    options.settings["models"] = list(measured)
    common.publish(options, table, measured=measured, epochs_of_numbers=numbers)


def fit_sentences(model: str) -> None:
    """Prints the seconds of two epochs; of numbers instead of words without a model."""
    import keras
    import numpy as np

    import keras_elmo

    tokens = [_OTHERS[k % len(_OTHERS)].split() for k in range(100)]
    longest = max(map(len, tokens))
    words = np.array([row + [""] * (longest - len(row)) for row in tokens])
    char_ids = np.asarray(keras_elmo.CharacterIds()(words))
    if model:
        x, inputs = char_ids, keras.Input((None, 50), dtype="int32")
        features = keras_elmo.ElmoEmbedding(model)(inputs)
    else:
        x = char_ids[:, 1:-1].astype("float32")
        features = inputs = keras.Input((None, 50))
    tags = keras.layers.Dense(5, activation="softmax")(features)
    tagger = keras.Model(inputs, tags)
    tagger.compile("adam", "sparse_categorical_crossentropy")
    labels = np.zeros(words.shape, "int32")
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        tagger.fit(x, labels, batch_size=32, verbose=0)
        seconds.append(time.perf_counter() - began)
    print(json.dumps(seconds))


def _epochs(model: str) -> list[float]:
    seconds: list[float] = json.loads(
        common.call_in_process("cold_start", "fit_sentences", model)
    )
    return seconds


def embed_sentences(model: str) -> None:
    """Prints the moments on the way to the first vectors, and what others take."""
    import keras_elmo

    imported = time.time()
    encoder = keras_elmo.load(model)
    loaded = time.time()
    next(keras_elmo.embed(encoder, [_SENTENCE]))
    moments = {"imported": imported, "loaded": loaded, "embedded": time.time()}
    warm = []
    for _ in range(_ROUNDS):
        for sentence in _OTHERS:
            began = time.perf_counter()
            next(keras_elmo.embed(encoder, [sentence.split()]))
            warm.append(1000 * (time.perf_counter() - began))
    warm = warm[_ROUNDS_BEFORE * len(_OTHERS) :]
    print(json.dumps({"moments": moments, "warm": warm}))


def _start(model: str) -> dict[str, Any]:
    """Seconds from the start of a process to each of its moments."""
    began = time.time()
    answer = json.loads(common.call_in_process("cold_start", "embed_sentences", model))
    moments = answer["moments"].items()
    return {**answer, "moments": {name: at - began for name, at in moments}}


def table(result: common.Result) -> str:
    """Returns the medians, one row per model."""
    header = ["Model", "Imported, s", "Loaded, s", "First vectors, s", "least to most"]
    header += ["The next sentences, ms, median", "95 of 100 within"]
    header += ["First epoch, s", "Second, s"]
    rows = []
    for model, measured in result["measured"].items():
        moments, warm = measured["moments"], measured["warm_milliseconds"]
        medians = (
            statistics.median(run[name] for run in moments) for name in moments[0]
        )
        ends = [run["embedded"] for run in moments]
        rows.append(
            [
                model,
                *(f"{seconds:.1f}" for seconds in medians),
                f"{min(ends):.1f} to {max(ends):.1f}",
                f"{statistics.median(warm):.1f}",
                f"{statistics.quantiles(warm, n=20)[-1]:.1f}",
                *_medians(measured["epochs"]),
            ]
        )
    numbers = _medians(result["epochs_of_numbers"])
    rows.append(["numbers, without a model", *["-"] * 6, *numbers])
    return markdown_table(header, rows)


def _medians(epochs: list[list[float]]) -> list[str]:
    return [f"{statistics.median(part):.2f}" for part in zip(*epochs, strict=True)]


if __name__ == "__main__":
    main()
