"""Batches by length, or rows packed with several sentences? Words/s and perplexity.

Trains on the batches of `keras_elmo.Corpus`, and on the same sentences packed into
rows of one length, in turn, for their speeds. A recurrence over packed rows has to set
its state back between two sentences; that is left out here, which favours packing.

Then one model for each reads as many words as its speed gives it in the same time, and
held-out perplexity is measured. With its state set back, a packed row teaches what its
sentences teach one by one, so here they are rows of their own.

    python benchmarks/batching.py --out batching.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
from markdown_table import markdown_table, spread

OPTIONS = ("preset", "lines", "num_sampled", "batch_tokens", "steps", "repeats")
OPTIONS += ("minutes", "validation_lines")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    import batching_runs

    options = _parser().parse_args(arguments)
    corpus = common.corpus(options)
    validation = options.validation or common.data_folder() / "enwiki/dev.txt.xz"
    paragraphs = batching_runs.read_paragraphs(corpus, options.lines)
    held_out = batching_runs.read_paragraphs(validation, options.validation_lines)
    rows = [
        *batching_runs.compare("paragraph", paragraphs, held_out, options),
        *batching_runs.compare(
            "sentence",
            list(common.sentences(paragraphs)),
            list(common.sentences(held_out)),
            options,
        ),
    ]
    result = {
        "benchmark": "batching",
        **common.settings(options, OPTIONS),
        "rows": rows,
    }
    common.publish(result, table, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__, corpus="enwiki/train-00-of-04.txt.xz")
    parser.add_argument(
        "--lines", type=int, default=10_000, metavar="N", help="paragraphs (10,000)"
    )
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument(
        "--num-sampled", type=int, default=1024, metavar="N", help="(1,024)"
    )
    parser.add_argument(
        "--batch-tokens", type=int, default=1280, metavar="N", help="(1,280)"
    )
    parser.add_argument(
        "--steps", type=int, default=40, metavar="N", help="of a repetition (40)"
    )
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="(5)")
    parser.add_argument(
        "--validation",
        type=Path,
        metavar="FILE",
        help="held-out text (the development text of enwiki of the data)",
    )
    parser.add_argument(
        "--validation-lines", type=int, default=300, metavar="N", help="(300)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=3.0,
        metavar="N",
        help="of training before perplexity is measured (3)",
    )
    return parser


def table(results: Sequence[common.Result]) -> str:
    """Returns the figures, a row a text and a kind of batches."""
    header = [
        "Preset",
        "A line is a",
        "Batches",
        "Words/s, median",
        "least to most",
        "Padding, %",
        "Shapes",
        "Perplexity",
        "after words",
    ]
    rows = (_table_row(result, row) for result in results for row in result["rows"])
    return markdown_table(header, rows)


def _table_row(result: common.Result, row: dict[str, Any]) -> list[str]:
    return [
        result["preset"],
        row["text"],
        row["batches"],
        *spread(row["words_per_second"]),
        f"{100 * row['padding']:.2f}",
        str(row["shapes"]),
        f"{row['perplexity']:,.1f}",
        f"{row['words']:,}",
    ]


if __name__ == "__main__":
    main()
