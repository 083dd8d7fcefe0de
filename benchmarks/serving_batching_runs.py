"""What `serving_batching.py` measures: every way to answer, under every load."""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from keras_elmo.serving.errors import Limits
from served import p50_and_p99

from keras_elmo.serving.batching import Batcher, Request
from keras_elmo.serving.model import Model

_TOLERANCE = 1e-5

# The mean vector of a sentence.
Way = Callable[[str], np.ndarray]


def measure(
    path: Path, texts: Sequence[str], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Returns the figures, a row a way and a load.

    Args:
        path: of the model.
        texts: sentences to ask for.
        options: of the benchmark.
    """
    model = Model(path, 1)
    batcher = Batcher(Limits().tokens, Limits().waiting)
    ways: dict[str, Way] = {
        "one by one": _one_by_one(model),
        "in the graph, no wait": _in_graph(model, 0),
        "in the graph, 2 ms": _in_graph(model, 2000),
        "queue": _queued(model, batcher),
    }
    _compare(ways, texts[:20])
    rows = _rows(ways, texts, options)
    batcher.close()
    return rows


def _one_by_one(model: Model) -> Way:
    signature = model.signatures["default"]

    def mean(text: str) -> np.ndarray:
        inputs = {"strings": np.array([text.encode()], object)}
        return signature(inputs, ["default"])["default"][0]

    return mean


def _queued(model: Model, batcher: Batcher) -> Way:
    signature = model.signatures["default"]

    def mean(text: str) -> np.ndarray:
        strings = np.array([text.encode()], object)
        request = Request(
            signature, {"strings": strings}, ["default"], 1, len(strings[0])
        )
        return batcher.submit(request).result()["default"][0]

    return mean


def _in_graph(model: Model, wait_microseconds: int) -> Way:
    function = model.loaded.signatures["default"]

    @tf.nondifferentiable_batch_function(
        num_batch_threads=1,
        max_batch_size=64,
        batch_timeout_micros=wait_microseconds,
        max_enqueued_batches=1000,
    )
    def batched(strings: Any) -> Any:
        return function(strings=strings)["default"]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def graph(strings: Any) -> Any:
        return batched(strings)

    return lambda text: graph(tf.constant([text])).numpy()[0]


def _compare(ways: dict[str, Way], texts: Sequence[str]) -> None:
    for text in texts:
        wanted, *others = (way(text) for way in ways.values())
        difference = max(float(np.abs(other - wanted).max()) for other in others)
        if difference > _TOLERANCE:
            raise RuntimeError(f"the vectors differ by {difference}")


def _rows(
    ways: dict[str, Way], texts: Sequence[str], options: argparse.Namespace
) -> list[dict[str, Any]]:
    measured: dict[tuple[int, str], list[list[float]]] = {}
    # In turn, so that what else the machine does meets all.
    for _ in range(options.repeats):
        for clients in options.clients:
            for name, way in ways.items():
                seconds = _load(way, texts, clients, options.seconds)
                measured.setdefault((clients, name), []).append(seconds)
                rate = len(seconds) / options.seconds
                print(f"{clients}, {name}: {rate:,.0f}/s", file=sys.stderr, flush=True)
    rows = []
    for (clients, name), runs in measured.items():
        seconds = [each for run in runs for each in run]
        rows.append(
            {
                "clients": clients,
                "way": name,
                "sentences_per_second": [len(run) / options.seconds for run in runs],
                **p50_and_p99(seconds),
            }
        )
    return rows


def _load(way: Way, texts: Sequence[str], clients: int, seconds: float) -> list[float]:
    """The seconds of each call that so many threads made in a while."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    def ask(number: int) -> None:
        start = number * 7 % len(texts)
        for text in cycle([*texts[start:], *texts[:start]]):
            began = time.perf_counter()
            way(text)
            ended = time.perf_counter()
            if ended > end:
                return
            times.append(ended - began)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times
