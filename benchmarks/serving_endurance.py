"""Does the server stay as it is? Thousands of requests, and its memory.

Requests of mixed sizes and kinds from several processes: real sentences, 1 to 64 at a
time, as rows, columns or tokens, with this or that choice of outputs.
The server's memory is noted after every thousand, when nothing has been in flight for
two seconds.

    python benchmarks/serving_endurance.py --requests 20000 --out endurance.json
"""

import concurrent.futures
import json
import multiprocessing
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import common
from common import markdown_table, megabytes
from served import Served, exported, served
from serving import read_texts

_OUTPUTS = ("default", "elmo", "word_emb", "lstm_outputs1", "sequence_len")
_ROUND = 1000
# Rounds until the pools of memory have their size.
_SETTLED = 2
_LARGEST = 64
# Twice what the server takes to see that nothing is in flight, and to return memory.
_REST_SECONDS = 4.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/dev.txt.xz",
        preset="mini",
        requests=20_000,
        clients=8,
    )
    # Any of them together are within the server's limits.
    texts = read_texts(options.corpus)
    lines = [text for text in texts if len(text.split()) <= 100]
    with exported(options.preset) as model, served(model) as server:
        memory, failures = _rounds(server, lines, options.requests, options.clients)
        batches = server.metric("keras_elmo_batch_sentences_count")
        sentences = server.metric("keras_elmo_batch_sentences_sum")
    common.publish(
        options,
        table,
        failures=failures,
        sentences=sentences,
        batches=batches,
        resident_bytes=memory,
    )
    if failures:
        raise SystemExit(f"{len(failures)} requests failed, first: {failures[0]}")


def _rounds(
    server: Served, lines: list[str], requests: int, clients: int
) -> tuple[list[float], list[str]]:
    memory: list[float] = []
    failures: list[str] = []
    # Not forked: this process has threads by now.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        clients, context, _prepare, (server.host, server.port, server.name, lines)
    ) as pool:
        for start in range(0, requests, _ROUND):
            numbers = range(start, min(start + _ROUND, requests))
            failures += filter(None, pool.map(_ask, numbers, chunksize=5))
            time.sleep(_REST_SECONDS)
            memory.append(server.metric("process_resident_memory_bytes"))
            print(
                f"{numbers.stop:,} requests, {len(failures)} failed, "
                f"{memory[-1] / 1e6:,.0f} MB",
                file=sys.stderr,
                flush=True,
            )
    return memory, failures


_client: Any = None


def _prepare(host: str, port: int, name: str, lines: list[str]) -> None:
    global _client
    import http.client

    path = f"/v1/models/{name}:predict"
    _client = http.client.HTTPConnection(host, port, timeout=300), path, lines


def _ask(number: int) -> str | None:
    """Sends a request that depends on its number alone; returns what went wrong."""
    connection, path, lines = _client
    body, rows = _request(random.Random(number), lines)
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        return f"{number}: {answer.status} {text[:200]!r}"
    answers = json.loads(text)
    if "instances" in body:
        counts = {len(answers["predictions"])}
    else:
        counts = {len(output) for output in answers["outputs"].values()}
    return None if counts == {rows} else f"{number}: {counts} rows of {rows}"


def _request(chance: random.Random, lines: list[str]) -> tuple[dict[str, Any], int]:
    # Most are small.
    rows = round(_LARGEST ** chance.random() ** 3)
    texts = chance.sample(lines, rows)
    body: dict[str, Any] = {}
    if chance.random() < 0.8:
        names = chance.sample(_OUTPUTS, chance.randint(1, 2))
        body["output_filter"] = names
    if chance.random() < 0.3:
        words = [text.split() for text in texts]
        longest = max(map(len, words))
        columns = {
            "tokens": [[*row, *[""] * (longest - len(row))] for row in words],
            "sequence_len": [len(row) for row in words],
        }
        return {**body, "signature_name": "tokens", "inputs": columns}, len(texts)
    key = chance.choice(("instances", "inputs"))
    return {**body, key: texts}, len(texts)


def table(result: common.Result) -> str:
    """Returns what was seen of the server's memory."""
    memory = result["resident_bytes"]
    settled = memory[_SETTLED - 1 :] or memory
    least, most = (f"{100 * (x(settled) / settled[0] - 1):+.1f}" for x in (min, max))
    cells = {
        "Preset": result["preset"],
        "Requests": f"{result['requests']:,}",
        "Failed": str(len(result["failures"])),
        "Sentences": f"{result['sentences']:,.0f}",
        "in batches": f"{result['batches']:,.0f}",
        "Memory after 1,000, MB": megabytes(memory[0]),
        "after 2,000, MB": megabytes(settled[0]),
        "in the end, MB": megabytes(memory[-1]),
        "After 2,000 at least, %": least,
        "at most, %": most,
    }
    return markdown_table(list(cells), [list(cells.values())])


if __name__ == "__main__":
    main()
