"""Requests of several clients together: in the graph, or in a queue before it?

TensorFlow has an operation that collects the calls of several threads within a graph;
it would be part of the exported model. `keras_elmo.serving` has a queue in Python
instead, which needs no time to wait for others. Both, and calls one by one, with 1, 16
and 64 threads that ask for the mean vector of one real sentence after the other.

    python benchmarks/serving_batching.py --out serving_batching.json
"""

from collections.abc import Sequence
from typing import Any

import common
from common import markdown_table, spread
from served import exported
from serving import read_texts


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    import serving_batching_runs

    options = common.options(
        __doc__,
        arguments,
        corpus="enwiki/dev.txt.xz",
        preset="mini",
        clients=[1, 16, 64],
        seconds=3.0,
        repeats=3,
    )
    texts = read_texts(options.corpus)
    with exported(options.preset) as path:
        rows = serving_batching_runs.measure(path, texts, options)
    common.publish(options, table, rows=rows)


def table(result: common.Result) -> str:
    """Returns the figures, a row a way and a load."""
    header = [
        "Preset",
        "Clients",
        "Way",
        "Sentences/s, median",
        "least to most",
        "p50, ms",
        "p99, ms",
    ]
    rows = (_table_row(result, row) for row in result["rows"])
    return markdown_table(header, rows)


def _table_row(result: common.Result, row: dict[str, Any]) -> list[str]:
    return [
        result["preset"],
        str(row["clients"]),
        row["way"],
        *spread(row["sentences_per_second"]),
        f"{1e3 * row['p50']:,.1f}",
        f"{1e3 * row['p99']:,.1f}",
    ]


if __name__ == "__main__":
    main()
