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
from markdown_table import markdown_table, spread
from served import exported
from serving import read_texts

OPTIONS = ("preset", "seconds", "repeats")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    import serving_batching_runs

    parser = common.parser(__doc__, corpus="enwiki/dev.txt.xz")
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument(
        "--clients", type=int, nargs="+", default=[1, 16, 64], help="(1 16 64)"
    )
    parser.add_argument("--seconds", type=float, default=3.0, metavar="N", help="(3)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="(3)")
    options = parser.parse_args(arguments)
    texts = read_texts(common.corpus(options))
    with exported(options.preset) as path:
        rows = serving_batching_runs.measure(path, texts, options)
    result = {
        "benchmark": "serving_batching",
        **common.settings(options, OPTIONS),
        "rows": rows,
    }
    common.publish(result, table, options.out)


def table(results: Sequence[common.Result]) -> str:
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
    rows = (_table_row(result, row) for result in results for row in result["rows"])
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
