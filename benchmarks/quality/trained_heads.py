"""Heads trained on words, and how right they are on the development set."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import common
import head_models
import logistic
import numpy as np
from data_sets import DATA_SETS, Task, Training
from encoders import Encoders
from experiments import Run
from scores import Scores, score

from keras_elmo import ScalarMix


def measure(
    language: str,
    runs: Sequence[Run],
    seeds: int,
    encoders: Encoders,
    scores: Scores,
    say: Callable[[str], None],
) -> None:
    """Adds the scores of a language's runs that are not there yet."""

    def is_missing(run: Run, seed: int) -> bool:
        return not scores.has(run.key(seed), **_conditions(run, encoders))

    missing = [
        (run, seed)
        for run in runs
        for seed in range(seeds)
        if DATA_SETS[run.task].language == language
        and encoders.has(run.words)
        and is_missing(run, seed)
    ]

    def sentences(each: tuple[Run, int]) -> tuple[str, int]:
        """A task, and how many of its training sentences are read; 0 for all."""
        run, _ = each
        return run.task, run.size or 0 if run.is_regression else 0

    # One after the other: their vectors are in memory.
    missing.sort(key=sentences)
    for (name, size), group in groupby(missing, sentences):
        data_set = DATA_SETS[name]
        task = data_set.read(common.data_folder(), encoders.tokenizer).part(
            size or None
        )
        for run, seed in group:
            # Another process may have been faster.
            if not is_missing(run, seed):
                continue
            found = _measure(run, seed, task, data_set.training, encoders)
            scores[run.key(seed)] = _conditions(run, encoders) | found
            say(f"{run.key(seed)}: {found['score']:.2f}")


def _measure(
    run: Run, seed: int, task: Task, training: Training, encoders: Encoders
) -> dict[str, Any]:
    began = time.monotonic()
    indices = task.drawn(run.size)
    if run.is_regression:
        vectors = encoders.pooled(run.words, task)
        found, chosen = logistic.predict(vectors, task, seed)
        return _result(task, found, indices, began) | chosen
    words = encoders.words(run.words, task)
    model = head_models.train(run.head, task, words, indices, seed, training)
    found = head_models.predict(model, task, words, training.batch_size)
    mixes = (layer for layer in model.layers if isinstance(layer, ScalarMix))
    return _result(task, found, indices, began) | {
        "mixes": [_mix(layer) for layer in mixes],
        "parameters": sum(int(np.prod(w.shape)) for w in model.trainable_weights),
    }


def _result(
    task: Task, found: Mapping[int, np.ndarray], indices: np.ndarray, began: float
) -> dict[str, Any]:
    return {
        "score": score(task, found),
        "sentences": len(indices),
        "seconds": round(time.monotonic() - began, 1),
    }


def _conditions(run: Run, encoders: Encoders) -> dict[str, Any]:
    """What the score depends on beside the run."""
    return {
        "vectors": encoders.digest(run.words),
        "training": logistic.PROTOCOL
        if run.is_regression
        else asdict(DATA_SETS[run.task].training),
    }


def _mix(mix: ScalarMix) -> list[float]:
    scalars = np.exp(np.asarray(mix.scalars))
    return (scalars / scalars.sum()).tolist()
