"""How fast does pretraining go, and how good is the model after the same tokens?

Each system trains in a process of its own, in turn, on the same text with the same
vocabulary. Speeds are in tokens of one direction, where n words make n + 1: the words,
and the boundary of their sentence. A run's speed is the median of its groups of
updates, the first group, in which graphs are made, left out. Held-out text is measured
with the exact softmax, by the same count.

Then `keras_elmo` trains on the same batches out of memory and out of files, to see
what reading text costs.

    python benchmarks/training.py --text 'train/*.txt' --vocab vocabulary.txt \\
        --heldout heldout.txt --out training.json

The text is UTF-8 of words between spaces, one sentence per line; the vocabulary a file
that `keras_elmo.Vocabulary.save` writes.

A peer is the command line of a program with these arguments:

    --text GLOB     the files to train on
    --vocab FILE    <S>, </S>, <UNK>, then words by falling frequency, one per line
    --batches N     batches of 64 rows of 20 tokens, which predict 1,280 tokens
    --seed N
    --dir DIR       a folder for itself, which does not exist yet
    --heldout FILE  what to measure perplexity on
    --out FILE      JSON to write

and these keys in that JSON:

    system            its name
    words_per_second  tokens a second, a figure for each group of updates
    tokens            that training predicted in a direction
    perplexity        a figure for each way to measure it, by its name; the lowest is
                      what is compared; {} if none is measured
    peak_bytes        the most memory that training had in use
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
from common import markdown_table, megabytes, spread

# This process imports no more than it has to: on Linux the peak of a new process
# begins with the memory of the one that starts it.
_CHILD = Path(__file__).with_name("trainer_keras_elmo.py")
_KEYS = ("system", "words_per_second", "tokens", "perplexity", "peak_bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its tables."""
    options = common.options(
        __doc__,
        arguments,
        text=(None, "glob pattern", {"required": True}),
        vocab=(None, "file", {"required": True}),
        heldout=(None, "file", {"required": True}),
        peer=(None, "keras_elmo alone if not given", {"metavar": "COMMAND"}),
        preset=("mini", "of keras_elmo"),
        batches=(150, "of 1,280 tokens, 20 at least"),
        repeats=5,
    )
    commands = [
        [sys.executable, str(_CHILD), "--preset", options.preset, "--dtype", dtype]
        for dtype in ("float32", "mixed_bfloat16")
    ]
    if options.peer:
        commands.append(shlex.split(options.peer))
    systems = compare(commands, options)
    # Not before the children have run: this imports TensorFlow.
    import trainer_keras_elmo

    pipeline = trainer_keras_elmo.compare_sources(
        options.text, options.vocab, options.preset, options.batches, options.repeats
    )
    common.publish(options, table, systems=systems, pipeline=pipeline)


def compare(
    commands: Sequence[Sequence[str]], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Runs each command `repeats` times, in turn; returns a summary of each."""
    runs: list[list[dict[str, Any]]] = [[] for _ in commands]
    for seed in range(options.repeats):
        for command, its_runs in zip(commands, runs, strict=True):
            its_runs.append(_run(command, seed, options))
            print(json.dumps(its_runs[-1]), file=sys.stderr, flush=True)
    return list(map(summary, runs))


def _run(
    command: Sequence[str], seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Trains in a process of its own; returns what it measured."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.json"
        arguments = [
            *("--text", options.text, "--vocab", options.vocab),
            *("--batches", str(options.batches), "--seed", str(seed)),
            *("--heldout", options.heldout, "--dir", f"{folder}/model"),
            *("--out", str(out)),
        ]
        # The table is all that belongs on stdout.
        subprocess.run([*command, *arguments], stdout=subprocess.DEVNULL, check=True)
        measured = json.loads(out.read_text(encoding="utf-8"))
    return {key: measured[key] for key in _KEYS}


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the medians over the runs of one system."""
    speeds = [statistics.median(run["words_per_second"]) for run in runs]
    # A peer may measure none.
    perplexities = [min(run["perplexity"].values(), default=None) for run in runs]
    return {
        "system": runs[0]["system"],
        "median": statistics.median(speeds),
        "words_per_second": speeds,
        "tokens": statistics.median(run["tokens"] for run in runs),
        "perplexity": None if None in perplexities else statistics.median(perplexities),
        "peak_bytes": statistics.median(run["peak_bytes"] for run in runs),
        "runs": list(runs),
    }


def table(result: common.Result) -> str:
    """Returns two tables: of the systems, and of reading text."""
    header = ["Preset", "System", "Words/s, median", "least to most"]
    header += ["of the peer's", "Tokens", "Perplexity", "Peak memory, MB"]
    rows = (_system_row(result, system) for system in result["systems"])
    systems = markdown_table(header, rows)
    header = ["Preset", "ms an update, batches from memory", "from files"]
    header += ["longer, %", "ms to read a batch, nothing else running"]
    memory, files, reading = (
        f"{1e3 * result['pipeline']['median'][name]:.1f}"
        for name in ("memory", "files", "reading_alone")
    )
    longer = f"{100 * result['pipeline']['longer']:+.1f}"
    row = [result["preset"], memory, files, longer, reading]
    return f"{systems}\n\n{markdown_table(header, [row])}"


def _system_row(result: common.Result, system: dict[str, Any]) -> list[str]:
    names = {own["system"]: own["median"] for own in result["systems"]}
    peers = [names[name] for name in names if not name.startswith("keras_elmo")]
    return [
        result["preset"],
        system["system"],
        *spread(system["words_per_second"]),
        f"{system['median'] / peers[0]:.2f}" if peers else "",
        f"{system['tokens']:,.0f}",
        "-" if system["perplexity"] is None else f"{system['perplexity']:,.1f}",
        megabytes(system["peak_bytes"]),
    ]


if __name__ == "__main__":
    main()
