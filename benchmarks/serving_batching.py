"""Requests of several clients together: in the graph, or in a queue before it?

TensorFlow has an operation that collects the calls of several threads within a graph;
it would be part of the exported model. `keras_elmo.serving` has a queue in Python
instead, which needs no time to wait for others. Both, and calls one by one, with 1, 16
and 64 threads that ask for the mean vector of one real sentence after the other.

    python benchmarks/serving_batching.py --out serving_batching.json
"""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import common
import numpy as np
import tensorflow as tf
from common import markdown_table, spread
from served import LATENCIES, exported, latency_cells, measure
from serving import read_texts

from keras_elmo.serving.batching import Batcher
from keras_elmo.serving.limits import Limits
from keras_elmo.serving.model import Model
from keras_elmo.serving.request import Request

_TOLERANCE = 1e-5

# The mean vector of a sentence.
Way = Callable[[str], np.ndarray]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/dev.txt.xz",
        preset="mini",
        clients=[1, 16, 64],
        seconds=3.0,
        repeats=3,
    )
    texts = read_texts(options.corpus)
    with exported(options.preset) as path:
        model = Model(path, 1)
    batcher = Batcher(Limits())
    ways: dict[str, Way] = {
        "one by one": _one_by_one(model),
        "in the graph, no wait": _in_graph(model, 0),
        "in the graph, 2 ms": _in_graph(model, 2000),
        "queue": _queued(model, batcher),
    }
    _compare(ways, texts[:20])
    loads = {
        (clients, name): functools.partial(_load, way, texts, clients, options.seconds)
        for clients in options.clients
        for name, way in ways.items()
    }
    rows = [
        {"clients": clients, "way": name, **row}
        for (clients, name), row in measure(
            loads, options.seconds, options.repeats, "sentences_per_second"
        )
    ]
    batcher.close()
    common.publish(options, table, rows=rows)


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


def table(result: common.Result) -> str:
    """Returns the figures, a row a way and a load."""
    header = ["Preset", "Clients", "Way", "Sentences/s, median", "least to most"]
    rows = (
        [
            *(result["preset"], str(row["clients"]), row["way"]),
            *spread(row["sentences_per_second"]),
            *latency_cells(row),
        ]
        for row in result["rows"]
    )
    return markdown_table([*header, *LATENCIES], rows)


if __name__ == "__main__":
    main()
