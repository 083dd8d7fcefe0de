"""Requests of several clients together: in the graph, or in a queue before it?

TensorFlow has an operation that collects the calls of several threads within a graph;
it would be part of the exported model. `keras_elmo.serving` has a queue in Python
instead, which needs no time to wait for others. Both, and calls one by one, with 1, 16
and 64 threads that ask for the mean vector of one real sentence after the other.

    python benchmarks/serving_batching.py --out serving_batching.json
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import common
import numpy as np
import tensorflow as tf

from keras_elmo.serving.batch import Request
from keras_elmo.serving.batcher import Batcher
from keras_elmo.serving.limits import Limits
from keras_elmo.serving.model import Model
from keras_elmo.text.lines import read_lines

_TOLERANCE = 1e-5

# The mean vector of a sentence.
Way = Callable[[str], np.ndarray]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    parser = common.parser(__doc__, corpus="enwiki/dev.txt.xz")
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument(
        "--clients", type=int, nargs="+", default=[1, 16, 64], help="(1 16 64)"
    )
    parser.add_argument("--seconds", type=float, default=3.0, metavar="N", help="(3)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="(3)")
    options = parser.parse_args(arguments)
    lines = common.sentences(read_lines([str(common.corpus(options))]))
    texts = list(islice(lines, 0, 5000, 5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        common.call_in_process(
            "random_model", "export_random_model", options.preset, path, "unicode"
        )
        model = Model(path, 1)
    batcher = Batcher(Limits().tokens, Limits().waiting)
    ways: dict[str, Way] = {
        "one by one": _one_by_one(model),
        "in the graph, no wait": _in_graph(model, 0),
        "in the graph, 2 ms": _in_graph(model, 2000),
        "queue": _queued(model, batcher),
    }
    _compare(ways, texts[:20])
    result = {
        "benchmark": "serving_batching",
        "preset": options.preset,
        "seconds": options.seconds,
        "repeats": options.repeats,
        "rows": _rows(ways, texts, options),
    }
    batcher.close()
    common.publish(result, options.out)


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
        cuts = (
            statistics.quantiles(seconds, n=100) if len(seconds) > 1 else seconds * 99
        )
        rows.append(
            {
                "clients": clients,
                "way": name,
                "sentences_per_second": [len(run) / options.seconds for run in runs],
                "p50": cuts[49],
                "p99": cuts[98],
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


if __name__ == "__main__":
    main()
