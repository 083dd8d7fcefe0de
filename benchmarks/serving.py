"""How fast does the server answer, and how much does it add to the model?

A `keras-elmo serve` process: requests of one client and calls of the exported model's
signature without a server, some of each in turn; the difference is what the server
adds. Then 1, 16 and 64 clients, each a process of its own that sends its next request
when it has read the answer to the last: real sentences in, their mean vectors out, or
every layer.

    python benchmarks/serving.py --out serving.json
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes, spread
from served import Served, exported, p50_and_p99, served

_CLIENT = Path(__file__).with_name("serving_client.py")
# What is asked for, and in how many sentences at a time.
_KINDS = {
    "mean vector": (["default"], 1),
    "all layers": (["word_emb", "lstm_outputs1", "lstm_outputs2"], 1),
    "mean vectors of 8": (["default"], 8),
}
# Until every client has been started.
_START = 0.5
_CALLS_AT_A_TIME = 25


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        corpus="enwiki/dev.txt.xz",
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
        memory = server.metric("process_resident_memory_bytes")
    common.publish(options, table, rows=rows, resident_bytes=memory, overhead=overhead)


def read_texts(corpus: Path) -> list[str]:
    """Returns a thousand sentences, from all over a part of a text."""
    from keras_elmo.text.lines import read_lines

    lines = common.sentences(read_lines([str(corpus)]))
    return list(islice(lines, 0, 5000, 5))


def _rows(
    server: Served, texts: Sequence[str], options: argparse.Namespace
) -> list[dict[str, Any]]:
    # The first requests of a process are slower.
    _load(server, texts, "mean vectors of 8", max(options.clients), options.seconds)
    measured: dict[tuple[str, int], list[list[float]]] = {}
    # In turn, so that what else the machine does meets all.
    for _ in range(options.repeats):
        for kind in _KINDS:
            for clients in options.clients:
                seconds = _load(server, texts, kind, clients, options.seconds)
                measured.setdefault((kind, clients), []).append(seconds)
                rate = len(seconds) / options.seconds
                print(f"{kind}, {clients}: {rate:,.0f}/s", file=sys.stderr, flush=True)
    return [
        {
            "kind": kind,
            "clients": clients,
            "sentences": _KINDS[kind][1],
            "requests_per_second": [len(run) / options.seconds for run in runs],
            **p50_and_p99([seconds for run in runs for seconds in run]),
        }
        for (kind, clients), runs in measured.items()
    ]


def _load(
    server: Served, texts: Sequence[str], kind: str, clients: int, seconds: float
) -> list[float]:
    """Returns the seconds of each request that so many clients made in a while."""
    outputs, size = _KINDS[kind]
    begin = time.time() + _START + 0.06 * clients
    request = {
        "host": server.host,
        "port": server.port,
        "path": f"/v1/models/{server.name}:predict",
        "begin": begin,
        "end": begin + seconds,
        "bodies": [
            {"instances": texts[start : start + size], "output_filter": outputs}
            for start in range(0, len(texts), size)
        ],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(request, file)
        file.flush()
        processes = [
            subprocess.Popen(
                [sys.executable, "-S", str(_CLIENT), file.name, str(number)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(clients)
        ]
        outs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("a client failed")
    return [each for out in outs for each in json.loads(out)]


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
    """Returns two tables: a row a load, and what the server adds."""
    header = [
        "Preset",
        "A request's answer",
        "Clients",
        "p50, ms",
        "p99, ms",
        "Requests/s, median",
        "least to most",
        "Sentences/s",
        "of one client's",
    ]
    rows = (_load_row(result, row) for row in result["rows"])
    loads = markdown_table(header, rows)
    header = [
        "Preset",
        "A request, ms",
        "A call, ms",
        "Added, ms",
        "Server's memory, MB",
    ]
    return f"{loads}\n\n{markdown_table(header, [_overhead_row(result)])}"


def _load_row(result: common.Result, row: dict[str, Any]) -> list[str]:
    one = min(
        (other for other in result["rows"] if other["kind"] == row["kind"]),
        key=lambda other: other["clients"],
    )
    rate, of_one = (statistics.median(r["requests_per_second"]) for r in (row, one))
    return [
        result["preset"],
        row["kind"],
        str(row["clients"]),
        f"{1e3 * row['p50']:,.1f}",
        f"{1e3 * row['p99']:,.1f}",
        *spread(row["requests_per_second"]),
        f"{rate * row['sentences']:,.0f}",
        f"{rate / of_one:.2f}",
    ]


def _overhead_row(result: common.Result) -> list[str]:
    times = result["overhead"]
    return [
        result["preset"],
        *(f"{1e3 * times[name]:.2f}" for name in ("request", "call", "added")),
        megabytes(result["resident_bytes"]),
    ]


if __name__ == "__main__":
    main()
