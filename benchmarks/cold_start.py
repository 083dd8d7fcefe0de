"""How long until the first vectors? From the start of a process that has just begun.

Exports an untrained model and, in fresh processes, imports keras_elmo, loads the
SavedModel and embeds one sentence.

    python benchmarks/cold_start.py --out cold_start.json
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import common
from markdown_table import markdown_table

OPTIONS = ("preset", "repeats")

_SENTENCE = "The river rose , and its bank gave way .".split()


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    parser = common.parser(__doc__)
    parser.add_argument("--preset", default="mini", help="(mini)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="(5)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "exported"
        common.call_in_process("cold_start", "export", options.preset, model)
        measured = [_start(model) for _ in range(options.repeats)]
    result = {
        "benchmark": "cold_start",
        **common.settings(options, OPTIONS),
        "measured": measured,
        "median": {
            moment: statistics.median(run[moment] for run in measured)
            for moment in measured[0]
        },
    }
    common.publish(result, table, options.out)


def export(preset: str, path: str) -> None:
    """Writes the SavedModel of an untrained model."""
    import keras_elmo

    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset(preset))
    keras_elmo.export_saved_model(encoder, path)


def first_vectors(model: str) -> None:
    """Prints the moments on the way to the vectors of a sentence, as JSON."""
    import keras_elmo

    imported = time.time()
    encoder = keras_elmo.load(model)
    loaded = time.time()
    next(keras_elmo.embed(encoder, [_SENTENCE]))
    print(json.dumps({"imported": imported, "loaded": loaded, "embedded": time.time()}))


def _start(model: Path) -> dict[str, float]:
    """Seconds from the start of a process to each of its moments."""
    code = f"import cold_start; cold_start.first_vectors({str(model)!r})"
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    moments = json.loads(done.stdout)
    return {moment: seconds - began for moment, seconds in moments.items()}


def table(results: Sequence[common.Result]) -> str:
    """Returns the medians, a row a model."""
    header = ["Preset", "Imported, s", "Loaded, s", "First vectors, s", "least to most"]
    return markdown_table(header, map(_table_row, results))


def _table_row(result: common.Result) -> list[str]:
    ends = [run["embedded"] for run in result["measured"]]
    return [
        result["preset"],
        *(f"{seconds:.1f}" for seconds in result["median"].values()),
        f"{min(ends):.1f} to {max(ends):.1f}",
    ]


if __name__ == "__main__":
    main()
