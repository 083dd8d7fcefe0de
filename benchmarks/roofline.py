"""How close do vectors come to what the processor can multiply?

Times the encoder on batches of real sentences in their natural order, a large matrix
product in turn with it, and the parts of the encoder by themselves. The share is that
of the multiplications that have to be made: of every live position in the biLM, of
every distinct word of a batch in the character CNN, none of padding.

    python benchmarks/roofline.py --out roofline.json
"""

import argparse
from collections.abc import Iterable, Sequence

import common
from inference import read_sentences
from markdown_table import markdown_table

OPTIONS = ("preset", "batch_size", "repeats")

_NUM_BATCHES = 5


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    import roofline_runs

    options = _parser().parse_args(arguments)
    count = _NUM_BATCHES * options.batch_size
    sentences = read_sentences(common.corpus(options))[:count]
    result = {
        "benchmark": "roofline",
        **common.settings(options, OPTIONS),
        "batches": _NUM_BATCHES,
        "words": sum(map(len, sentences)),
        "rows": roofline_runs.measure(sentences, options),
    }
    common.publish(result, table, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__, corpus="wikitext2/valid.txt.xz")
    parser.add_argument("--preset", default="original", help="(original)")
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="(32)")
    parser.add_argument(
        "--dtypes", nargs="+", default=["float32", "bfloat16"], metavar="DTYPE"
    )
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="(5)")
    return parser


def table(results: Sequence[common.Result]) -> str:
    """Returns the figures, a row a part of the encoder."""
    header = [
        "Preset",
        "Type",
        "Part",
        "ms a batch",
        "GFLOP/s",
        "of a large product's, %",
    ]
    rows = (line for result in results for line in _table_rows(result))
    return markdown_table(header, rows)


def _table_rows(result: common.Result) -> Iterable[list[str]]:
    for row in result["rows"]:
        for part, seconds in row["seconds"].items():
            speed = row["flops"][part] / seconds
            yield [
                result["preset"],
                row["dtype"],
                part,
                f"{1000 * seconds / result['batches']:,.0f}",
                f"{speed / 1e9:,.0f}",
                f"{100 * speed / row['ceiling']:.0f}",
            ]


if __name__ == "__main__":
    main()
