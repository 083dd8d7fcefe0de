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
import re
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes, spread

# This process imports no more than it has to: on Linux the peak of a new process
# begins with the memory of the one that starts it.


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/dev.txt.xz",
        presets=["mini"],
        devices=[1, 2],
        vocabulary_size=(30_000, "words that are predicted"),
        num_sampled=(1024, "candidates of the softmax"),
        batch_tokens=(1280, "positions of a batch"),
        steps=(100, "updates of a run"),
        measure_every=(20, "updates of a measurement; the first is left out"),
        repeats=(2, "runs of each kind"),
    )
    kinds = list(itertools.product(options.presets, options.devices))
    runs: dict[Any, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(options.repeats):
        for kind in kinds:
            runs[kind].append(_run(*kind, options))
            print(*kind, runs[kind][-1], file=sys.stderr)
    summaries = [
        {
            "preset": preset,
            "devices": devices,
            "words_per_second": [s for run in of for s in run["words_per_second"]],
            "peak_bytes": statistics.median(run["peak_bytes"] for run in of),
            "estimated_bytes": of[0]["estimated_bytes"],
        }
        for (preset, devices), of in runs.items()
    ]
    common.publish(options, table, runs=summaries)


def _run(preset: str, devices: int, options: argparse.Namespace) -> dict[str, Any]:
    """Pretrains in a fresh process and returns what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        arguments = common.pretrain_arguments(
            corpus=options.corpus,
            out=out,
            preset=preset,
            vocabulary_size=options.vocabulary_size,
            num_sampled=options.num_sampled,
            batch_tokens=options.batch_tokens,
            devices=devices,
            steps=options.steps,
            validate_every=options.measure_every,
        )
        done = common.run_measured(*arguments)
        with open(out / "history.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    pattern = r"^Memory: about ([\d,]+) MB"
    (estimate,) = re.findall(pattern, done["stderr"], re.MULTILINE)
    return {
        "words_per_second": [float(row["words_per_second"]) for row in rows[1:]],
        "peak_bytes": done["peak_bytes"],
        "estimated_bytes": 1_000_000 * int(estimate.replace(",", "")),
    }


def table(result: common.Result) -> str:
    """Returns the figures, one row per preset and number of devices."""
    header = ["Preset", "Devices", "Words/s, median", "least to most"]
    header += ["of the first row's", "Peak memory, MB", "estimated"]
    first = statistics.median(result["runs"][0]["words_per_second"])
    rows = (
        [
            run["preset"],
            str(run["devices"]),
            *spread(run["words_per_second"]),
            f"{statistics.median(run['words_per_second']) / first:.2f}",
            megabytes(run["peak_bytes"]),
            megabytes(run["estimated_bytes"]),
        ]
        for run in result["runs"]
    )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
