"""Does the memory of pretraining depend on the corpus, and how soon does it train?

Runs `keras-elmo pretrain` in fresh processes on one shard and on all of them, in turn,
and compares the peaks of resident memory over the whole run, with the count of the
vocabulary. The seconds to the first update are those from the start of the process.

    python benchmarks/memory.py --out memory.json
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import common
from markdown_table import markdown_table, megabytes

OPTIONS = ("preset", "steps", "vocabulary_size", "num_sampled", "repeats")

# This process imports no more than it has to: on Linux the peak of a new process
# begins with the memory of the one that starts it.
_CHILD = Path(__file__).with_name("measured_command.py")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = _parser().parse_args(arguments)
    folder = options.corpus or common.data_folder() / "enwiki"
    shards = sorted(folder.glob("train-*"))
    if len(shards) < 2:
        raise ValueError(f"{folder} must hold at least two files train-*")
    # Each number of shards with what the command is told to read.
    corpora = {1: shards[0], len(shards): folder / "train-*"}
    measured: dict[int, list[dict[str, float]]] = {count: [] for count in corpora}
    for repeat in range(options.repeats):
        for count, corpus in corpora.items():
            measured[count].append(_run(corpus, options))
            figures = json.dumps(measured[count][-1])
            print(f"shards {count}, run {repeat}: {figures}", file=sys.stderr)
    result = {
        "benchmark": "memory",
        **common.settings(options, OPTIONS),
        "runs": [
            {"shards": count, "median": _median(runs), "measured": runs}
            for count, runs in measured.items()
        ],
    }
    common.publish(result, table, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="DIR",
        help="a folder of files train-* (enwiki of the data)",
    )
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="(200)")
    parser.add_argument(
        "--vocabulary-size", type=int, default=30_000, metavar="N", help="(30,000)"
    )
    parser.add_argument(
        "--num-sampled", type=int, default=1024, metavar="N", help="(1,024)"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, metavar="N", help="runs of each kind (3)"
    )
    return parser


def _run(corpus: Path, options: argparse.Namespace) -> dict[str, float]:
    """Pretrains in a fresh process and returns what it measured."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(_CHILD), "pretrain"]
        for name in ("preset", "steps", "vocabulary_size", "num_sampled"):
            command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
        command += ["--corpus", str(corpus), "--out", str(Path(folder) / "model")]
        began = time.time()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        seconds = time.time() - began
    figures = json.loads(done.stdout)
    return {
        "peak_bytes": figures["peak_bytes"],
        "seconds_to_import": round(figures["imported"] - began, 2),
        "seconds_to_first_update": round(figures["first_update"] - began, 2),
        "seconds": round(seconds, 2),
    }


def _median(runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def table(results: Sequence[common.Result]) -> str:
    """Returns the medians, a row a number of shards."""
    header = [
        "Preset",
        "Shards",
        "Peak memory, MB",
        "More than with one, %",
        "Seconds to the first update",
        "of these importing",
    ]
    rows = (row for result in results for row in _table_rows(result))
    return markdown_table(header, rows)


def _table_rows(result: common.Result) -> Iterable[list[str]]:
    base = result["runs"][0]["median"]["peak_bytes"]
    for run in result["runs"]:
        median = run["median"]
        yield [
            result["preset"],
            str(run["shards"]),
            megabytes(median["peak_bytes"]),
            f"{100 * (median['peak_bytes'] / base - 1):+.1f}",
            f"{median['seconds_to_first_update']:.1f}",
            f"{median['seconds_to_import']:.1f}",
        ]


if __name__ == "__main__":
    main()
