"""How fast does the server answer, and how much does it add to the model?

A `keras-elmo serve` process: requests of one client and calls of the exported model's
signature without a server, some of each in turn; the difference is what the server
adds. Then 1, 16 and 64 clients, each a process of its own that sends its next request
when it has read the answer to the last: real sentences in, their mean vectors out, or
every layer. And one client alone and beside another one, whose requests are as long as
the server takes them.

    python benchmarks/serving.py --out serving.json
"""

import argparse
import concurrent.futures
import functools
import http.client
import json
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes, spread
from served import LATENCIES, Served, exported, latency_cells, measure, served

# What is asked for, and in how many sentences at a time.
_KINDS = {
    "mean vector": (["default"], 1),
    "all layers": (["word_emb", "lstm_outputs1", "lstm_outputs2"], 1),
    "mean vectors of 8": (["default"], 8),
}
# Seconds until every client has been started.
_START = 1.0
_START_A_CLIENT = 0.15
# Sentences and words of a long request.
_LONG = (256, 64)
_CALLS_AT_A_TIME = 25
_TIMES = ("request", "call", "added")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/dev.txt.xz",
        preset="mini",
        clients=[1, 16, 64],
        seconds=(5.0, "of a repetition"),
        repeats=3,
        calls=(500, "of one client alone"),
    )
    texts = read_texts(options.corpus)
    with exported(options.preset) as model, served(model) as server:
        # First, so that neither process has done anything else.
        overhead = _overhead(server, model, texts, options.calls)
        rows = _rows(server, texts, options)
        beside = _beside_long(server, texts, options)
        memory = server.metric("process_resident_memory_bytes")
    common.publish(
        options,
        table,
        rows=rows,
        beside_long=beside,
        resident_bytes=memory,
        overhead=overhead,
    )


def read_texts(corpus: Path) -> list[str]:
    """Returns a thousand sentences, from all over a part of a text."""
    from keras_elmo.text.lines import read_lines

    lines = common.sentences(read_lines([str(corpus)]))
    return list(islice(lines, 0, 5000, 5))


def _rows(
    server: Served, texts: Sequence[str], options: argparse.Namespace
) -> list[dict[str, Any]]:
    def load(kind: str, clients: int) -> list[float]:
        return _load(server, texts, kind, clients, options.seconds)

    # The first requests of a process are slower.
    load("mean vectors of 8", max(options.clients))
    loads = {
        (kind, clients): functools.partial(load, kind, clients)
        for kind in _KINDS
        for clients in options.clients
    }
    return [
        {"kind": kind, "clients": clients, "sentences": _KINDS[kind][1], **row}
        for (kind, clients), row in measure(loads, options.seconds, options.repeats)
    ]


def _load(
    server: Served, texts: Sequence[str], kind: str, clients: int, seconds: float
) -> list[float]:
    """Returns the seconds of each request that the clients made in a while."""
    outputs, size = _KINDS[kind]
    bodies = [
        json.dumps({"instances": texts[start : start + size], "output_filter": outputs})
        for start in range(0, len(texts), size)
    ]
    begin = time.time() + _START + _START_A_CLIENT * clients
    ask = functools.partial(
        _ask_until, server.host, server.port, server.name, bodies, begin, seconds
    )
    # Not forked: this process has threads by now.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(clients, context) as pool:
        return [second for times in pool.map(ask, range(clients)) for second in times]


def _beside_long(
    server: Served, texts: Sequence[str], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Seconds of one client's requests of a sentence, alone and beside long ones."""
    shorts = [
        json.dumps({"instances": [text], "output_filter": ["default"]})
        for text in texts
    ]
    rows, width = _LONG
    words = list(islice(cycle(" ".join(texts).split()), rows * width))
    tokens = [words[k : k + width] for k in range(0, len(words), width)]
    inputs = {"tokens": tokens, "sequence_len": [width] * rows}
    long = {"signature_name": "tokens", "inputs": inputs, "output_filter": ["default"]}

    def load(*bodies: list[str]) -> list[float]:
        """Returns the seconds of the first client's requests."""
        begin = time.time() + _START + _START_A_CLIENT * len(bodies)
        ask = functools.partial(_ask_until, server.host, server.port, server.name)
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(len(bodies), context) as pool:
            clients = [
                pool.submit(ask, body, begin, options.seconds, 0) for body in bodies
            ]
            return clients[0].result()

    loads = {
        "alone": lambda: load(shorts),
        "beside long ones": lambda: load(shorts, [json.dumps(long)]),
    }
    measured = measure(loads, options.seconds, options.repeats)
    return [{"how": how, **row} for how, row in measured]


def _ask_until(
    host: str,
    port: int,
    name: str,
    bodies: list[str],
    begin: float,
    seconds: float,
    number: int,
) -> list[float]:
    """One client: returns the seconds of each request that began and ended in time."""
    connection = http.client.HTTPConnection(host, port)
    start = number * 7 % len(bodies)
    times: list[float] = []
    time.sleep(max(0.0, begin - time.time()))
    for body in cycle(bodies[start:] + bodies[:start]):
        began = time.perf_counter()
        connection.request("POST", f"/v1/models/{name}:predict", body)
        answer = connection.getresponse()
        read = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {read[:200]!r}")
        if time.time() > begin + seconds:
            return times
        times.append(time.perf_counter() - began)
    return times


def _overhead(
    server: Served, model: Path, texts: Sequence[str], calls: int
) -> dict[str, float]:
    """Medians of the seconds of a request and of a call, and their difference."""
    import tensorflow as tf

    from keras_elmo.text.tokenizer import register_operations

    register_operations("unicode")
    loaded = tf.saved_model.load(str(model))
    signature = loaded.signatures["default"]
    connection = server.connect()
    path = f"/v1/models/{server.name}:predict"

    def ask(text: str) -> Any:
        body = json.dumps({"instances": [text], "output_filter": ["default"]})
        connection.request("POST", path, body.encode())
        return connection.getresponse().read()

    def call(text: str) -> Any:
        return signature(strings=tf.constant([text]))["default"].numpy()

    turn = {"request": ask, "call": call}
    times: dict[str, list[float]] = {name: [] for name in turn}
    chosen = list(islice(texts, calls))
    # In turn, some at a time: what one process does leaves the other's caches cold.
    for number, start in enumerate(range(0, calls, _CALLS_AT_A_TIME)):
        for name in sorted(turn, reverse=bool(number % 2)):
            for text in chosen[start : start + _CALLS_AT_A_TIME]:
                began = time.perf_counter()
                turn[name](text)
                times[name].append(time.perf_counter() - began)
    connection.close()
    # The first calls are slower.
    medians = {
        name: statistics.median(seconds[calls // 10 :])
        for name, seconds in times.items()
    }
    return {**medians, "added": medians["request"] - medians["call"]}


def table(result: common.Result) -> str:
    """Returns tables: a row a load, beside long requests, and what the server adds."""
    header = ["Preset", "A request's answer", "Clients", *LATENCIES]
    header += ["Requests/s, median", "least to most", "Sentences/s", "of one client's"]
    one = min(row["clients"] for row in result["rows"])
    rows = []
    for row in result["rows"]:
        rate = statistics.median(row["requests_per_second"])
        if row["clients"] == one:
            of_one = rate
        load = [result["preset"], row["kind"], str(row["clients"]), *latency_cells(row)]
        load += spread(row["requests_per_second"])
        rows.append([*load, f"{rate * row['sentences']:,.0f}", f"{rate / of_one:.2f}"])
    loads = markdown_table(header, rows)
    times = [f"{1e3 * result['overhead'][name]:.2f}" for name in _TIMES]
    header = ["Preset", "A request, ms", "A call, ms", "Added, ms"]
    header += ["Server's memory, MB"]
    overhead = [result["preset"], *times, megabytes(result["resident_bytes"])]
    names = ["Preset", "A sentence's vector", *LATENCIES]
    # Results of earlier versions have none.
    beside = [
        [result["preset"], row["how"], *latency_cells(row)]
        for row in result.get("beside_long", ())
    ]
    tables = [loads, markdown_table(header, [overhead])]
    if beside:
        tables.insert(1, markdown_table(names, beside))
    return "\n\n".join(tables)


if __name__ == "__main__":
    main()
