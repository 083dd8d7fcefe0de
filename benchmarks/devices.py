"""What do several devices of one machine cost? The same run on one and on several.

On a CPU, which is one device cut in parts, this shows the price of the strategy: what
its copies of the weights take, and its sums. On GPUs it shows the gain.

    python benchmarks/devices.py --out devices.json
"""

import csv
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common

# This process imports no more than it has to: on Linux the peak of a new process
# begins with the memory of the one that starts it.
_CHILD = Path(__file__).with_name("measured_command.py")
# Updates of a measurement. Those of the first, in which graphs are made, do not count.
_MEASURE_EVERY = 20


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    parser = common.parser(__doc__, "enwiki/dev.txt.xz")
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument("--devices", type=int, default=2, metavar="N", help="(2)")
    parser.add_argument("--steps", type=int, default=100, metavar="N", help="(100)")
    parser.add_argument(
        "--repeats", type=int, default=2, metavar="N", help="runs of each kind (2)"
    )
    options = parser.parse_args(arguments)
    counts = (1, options.devices)
    runs: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
    for _ in range(options.repeats):
        for count in counts:
            runs[count].append(_run(common.corpus(options), count, options))
            print(f"devices {count}: {runs[count][-1]}", file=sys.stderr)
    result = {
        "benchmark": "devices",
        "preset": options.preset,
        "devices": options.devices,
        "steps": options.steps,
        "repeats": options.repeats,
        "runs": [
            {
                "devices": count,
                "words_per_second": [s for run in of for s in run["words_per_second"]],
                "peak_bytes": statistics.median(run["peak_bytes"] for run in of),
            }
            for count, of in runs.items()
        ],
    }
    common.publish(result, options.out)


def _run(corpus: Path, devices: int, options: Any) -> dict[str, Any]:
    """Pretrains in a fresh process and returns what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        arguments = {
            "corpus": corpus,
            "out": out,
            "preset": options.preset,
            "vocabulary-size": 30_000,
            "num-sampled": 1024,
            "devices": devices,
            "steps": options.steps,
            "validate-every": _MEASURE_EVERY,
        }
        named = [str(part) for k, v in arguments.items() for part in (f"--{k}", v)]
        command = [sys.executable, str(_CHILD), "pretrain", *named]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        with open(out / "history.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    return {
        "words_per_second": [float(row["words_per_second"]) for row in rows[1:]],
        "peak_bytes": json.loads(done.stdout)["peak_bytes"],
    }


if __name__ == "__main__":
    main()
