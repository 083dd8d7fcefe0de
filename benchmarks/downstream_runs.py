"""What `downstream.py` measures: heads trained on one kind of word vectors."""

import statistics
import sys
import time
from typing import Any

import heads
import keras
import numpy as np
from tasks import Task
from words import CachedLayers, StaticWords, Words

import keras_elmo

_RANDOM_ENCODER_SEED = 1000
_TOLERANCE = 1e-5


def measure(
    name: str, encoder: keras_elmo.Encoder, task: Task, seeds: int, epochs: int
) -> dict[str, Any]:
    """Trains and scores a head on one kind of words, once a seed."""
    began = time.monotonic()
    words, difference = _make_words(name, encoder, task)
    result: dict[str, Any] = {
        "seconds_to_prepare": round(time.monotonic() - began, 1),
        "difference_from_elmo_embedding": difference,
        "accuracy": [],
        "mix": [],
        "seconds_to_train": [],
    }
    for seed in range(seeds):
        began = time.monotonic()
        model = heads.train(words, task, seed, epochs)
        seconds = time.monotonic() - began
        result["seconds_to_train"].append(round(seconds, 1))
        result["accuracy"].append(heads.accuracy(model, words, task))
        if isinstance(words, CachedLayers):
            result["mix"].append(_mix(model.get_layer("mix")))
        result["trainable_parameters"] = int(
            sum(np.prod(weight.shape) for weight in model.trainable_weights)
        )
        score = 100 * result["accuracy"][-1]
        say(f"{name}, seed {seed}: {score:.2f} % after {seconds:.0f} s")
    result["mean"] = statistics.mean(result["accuracy"])
    result["standard_deviation"] = (
        statistics.stdev(result["accuracy"]) if seeds > 1 else None
    )
    return result


def _make_words(
    name: str, encoder: keras_elmo.Encoder, task: Task
) -> tuple[Words, float | None]:
    if name == "static":
        units = 2 * encoder.config.projection_units
        return StaticWords(task.sentences, task.num_train, units), None
    if name == "random":
        keras.utils.set_random_seed(_RANDOM_ENCODER_SEED)
        encoder = keras_elmo.build_encoder(encoder.config)
    words = CachedLayers(encoder, task.sentences)
    difference = words.greatest_difference(encoder, task.sentences)
    if difference > _TOLERANCE:
        raise RuntimeError(
            f"the cached layers differ from ElmoEmbedding's by {difference:.1e}"
        )
    return words, difference


def _mix(mix: keras_elmo.ScalarMix) -> dict[str, Any]:
    scalars = np.asarray(mix.scalars)
    weights = np.exp(scalars) / np.exp(scalars).sum()
    return {"weights": weights.tolist(), "gamma": float(np.asarray(mix.gamma))}


def say(message: str) -> None:
    """Shows how far it is; the table is all that belongs on stdout."""
    print(message, file=sys.stderr, flush=True)
