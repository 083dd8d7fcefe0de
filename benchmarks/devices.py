"""What does training take? The same run by size, on one device and on several.

Words/s and the peak of resident memory, beside the estimate that a run begins with. On
a CPU, which is one device cut in parts, several devices show the price of the strategy:
what its copies of the weights take, and its sums. On GPUs they show the gain.

    python benchmarks/devices.py --presets mini --devices 1 2 --out devices.json
    python benchmarks/devices.py --presets mini small medium original --devices 1 \\
        --num-sampled 8192 --steps 12 --measure-every 4 --repeats 1 --out presets.json
"""

import argparse
import csv
import itertools
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import common
from markdown_table import markdown_table, megabytes, spread

OPTIONS = ("presets", "devices", "vocabulary_size", "num_sampled")
OPTIONS += ("batch_tokens", "steps", "measure_every", "repeats")

# This process imports no more than it has to: on Linux the peak of a new process
# begins with the memory of the one that starts it.
_CHILD = Path(__file__).with_name("measured_command.py")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = _parser().parse_args(arguments)
    kinds = list(itertools.product(options.presets, options.devices))
    runs: dict[Any, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(options.repeats):
        for kind in kinds:
            runs[kind].append(_run(*kind, options))
            print(*kind, runs[kind][-1], file=sys.stderr)
    result = {
        "benchmark": "devices",
        **common.settings(options, OPTIONS),
        "runs": [
            {
                "preset": preset,
                "devices": devices,
                "words_per_second": [s for run in of for s in run["words_per_second"]],
                "peak_bytes": statistics.median(run["peak_bytes"] for run in of),
                "estimated_bytes": of[0]["estimated_bytes"],
            }
            for (preset, devices), of in runs.items()
        ],
    }
    common.publish(result, table, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = common.parser(__doc__, "enwiki/dev.txt.xz")
    parser.add_argument("--presets", nargs="+", default=["mini"], help="(mini)")
    parser.add_argument(
        "--devices", nargs="+", type=int, default=[1, 2], metavar="N", help="(1 2)"
    )
    for name, value, of_what in (
        ("vocabulary-size", 30_000, "words that are predicted"),
        ("num-sampled", 1024, "candidates of the softmax"),
        ("batch-tokens", 1280, "positions of a batch"),
        ("steps", 100, "updates of a run"),
        ("measure-every", 20, "updates of a measurement; the first is left out"),
        ("repeats", 2, "runs of each kind"),
    ):
        parser.add_argument(
            f"--{name}",
            type=int,
            default=value,
            metavar="N",
            help=f"{of_what} ({value:,})",
        )
    return parser


def _run(preset: str, devices: int, options: argparse.Namespace) -> dict[str, Any]:
    """Pretrains in a fresh process and returns what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        arguments = {
            "corpus": common.corpus(options),
            "out": out,
            "preset": preset,
            "vocabulary-size": options.vocabulary_size,
            "num-sampled": options.num_sampled,
            "batch-tokens": options.batch_tokens,
            "devices": devices,
            "steps": options.steps,
            "validate-every": options.measure_every,
        }
        named = [str(part) for k, v in arguments.items() for part in (f"--{k}", v)]
        command = [sys.executable, str(_CHILD), "pretrain", *named]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        with open(out / "history.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    (estimate,) = re.findall(r"^Memory: about ([\d,]+) MB", done.stderr, re.MULTILINE)
    return {
        "words_per_second": [float(row["words_per_second"]) for row in rows[1:]],
        "peak_bytes": json.loads(done.stdout)["peak_bytes"],
        "estimated_bytes": 1_000_000 * int(estimate.replace(",", "")),
    }


def table(results: Sequence[common.Result]) -> str:
    """Returns the figures, a row a preset and a number of devices."""
    header = [
        "Preset",
        "Devices",
        "Words/s, median",
        "least to most",
        "of the first row's",
        "Peak memory, MB",
        "estimated",
    ]
    rows = (row for result in results for row in _table_rows(result))
    return markdown_table(header, rows)


def _table_rows(result: common.Result) -> Iterable[list[str]]:
    first = statistics.median(result["runs"][0]["words_per_second"])
    for run in result["runs"]:
        speeds = run["words_per_second"]
        yield [
            run["preset"],
            str(run["devices"]),
            *spread(speeds),
            f"{statistics.median(speeds) / first:.2f}",
            megabytes(run["peak_bytes"]),
            megabytes(run["estimated_bytes"]),
        ]


if __name__ == "__main__":
    main()
