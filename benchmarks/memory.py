"""Does the memory of pretraining depend on the corpus, and how soon does it train?

Runs `keras-elmo pretrain` in fresh processes on one shard and on all of them, in turn,
and compares the peaks of resident memory over the whole run, with the count of the
vocabulary. The seconds to the first update are those from the start of the process.

    python benchmarks/memory.py --out memory.json
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes

# This process imports no more than it has to: on Linux the peak of a new process
# begins with the memory of the one that starts it.


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki",
        preset="mini",
        steps=200,
        vocabulary_size=30_000,
        num_sampled=1024,
        repeats=(3, "runs of each kind"),
    )
    shards = sorted(options.corpus.glob("train-*"))
    if len(shards) < 2:
        raise ValueError(f"{options.corpus} must hold at least two files train-*")
    # Each number of shards with what the command is told to read.
    corpora = {1: shards[0], len(shards): options.corpus / "train-*"}
    measured: dict[int, list[dict[str, float]]] = {count: [] for count in corpora}
    for _ in range(options.repeats):
        for count, corpus in corpora.items():
            measured[count].append(_run(corpus, options))
            print(count, "shards:", measured[count][-1], file=sys.stderr)
    runs = [
        {"shards": count, "median": _median(runs), "measured": runs}
        for count, runs in measured.items()
    ]
    common.publish(options, table, runs=runs)


def _run(corpus: Path, options: argparse.Namespace) -> dict[str, float]:
    """Pretrains in a fresh process and returns what it measured."""
    names = ("preset", "steps", "vocabulary_size", "num_sampled")
    with tempfile.TemporaryDirectory() as folder:
        shared = {name: getattr(options, name) for name in names}
        arguments = common.pretrain_arguments(
            **shared, corpus=corpus, out=Path(folder) / "model"
        )
        figures = common.run_measured(*arguments)
    return {
        "peak_bytes": figures["peak_bytes"],
        "seconds_to_import": round(figures["imported"], 2),
        "seconds_to_first_update": round(figures["first_update"], 2),
        "seconds": round(figures["ended"], 2),
    }


def _median(runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def table(result: common.Result) -> str:
    """Returns the medians, a row a number of shards."""
    header = ["Preset", "Shards", "Peak memory, MB", "More than with one, %"]
    header += ["Seconds to the first update", "of these importing"]
    medians = {run["shards"]: run["median"] for run in result["runs"]}
    base = next(iter(medians.values()))["peak_bytes"]
    rows = (
        [
            result["preset"],
            str(shards),
            megabytes(median["peak_bytes"]),
            f"{100 * (median['peak_bytes'] / base - 1):+.1f}",
            f"{median['seconds_to_first_update']:.1f}",
            f"{median['seconds_to_import']:.1f}",
        ]
        for shards, median in medians.items()
    )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
