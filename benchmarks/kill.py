"""Does a run survive being killed? SIGKILL at random moments, then the same command.

Trains once undisturbed. Trains again with the same arguments and kills the process
some milliseconds after it has begun a phase - counting the vocabulary, a step, a
validation, writing the best weights, writing a checkpoint - and repeats the command,
with `--resume`, until it has been killed often enough; then lets it finish. Compares
the last checkpoints, the best weights and the learning curves of both runs, bit for
bit.

    python benchmarks/kill.py --kills 30 --out kill.json
    python benchmarks/kill.py --kills 30 --devices 2 --out kill_2.json
"""

import argparse
import dataclasses
import random
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
import h5py
import killing
import numpy as np
from common import markdown_table

# A step of a tiny model takes some twenty milliseconds.
_PHASES = {
    "count": (1, 1, 500),
    "step": (3, 8, 30),
    "validation": (3, 1, 300),
    "weights": (2, 1, 20),
    "checkpoint": (3, 3, 30),
}
_HELD_OUT_LINES = 50


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/dev.txt.xz",
        lines=2000,
        preset="tiny",
        steps=600,
        devices=1,
        kills=30,
        seed=0,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, killed = folder / "whole", folder / "killed"
        command = _command(options, folder)
        killing.finish([*command, "--out", str(whole)])
        command += ["--out", str(killed), "--resume"]
        chance = random.Random(options.seed)
        kills = []
        for aim in killing.aims(_PHASES, options.kills, chance, once=["count"]):
            phase = killing.kill(command, aim, _PHASES, chance)
            steps = [int(path.stem[-8:]) for path in killed.glob("checkpoints/*.npz")]
            kills.append({"aim": aim, "phase": phase, "step": max(steps, default=0)})
        killing.finish(command)
        same = {
            "same_state": differences(whole, killed) == [],
            "same_history": _history(whole) == _history(killed),
        }
    common.publish(options, table, killed=kills, **same)
    if not all(same.values()):
        raise SystemExit("the runs differ")


def _command(options: argparse.Namespace, folder: Path) -> list[str]:
    """Writes the text to train on and less to validate with; returns the command."""
    from keras_elmo.text.lines import read_lines

    train, held_out = folder / "train.txt", folder / "held-out.txt"
    read = read_lines([str(options.corpus)])
    for path, count in ((train, options.lines), (held_out, _HELD_OUT_LINES)):
        path.write_text("\n".join(islice(read, count)) + "\n", encoding="utf-8")
    arguments = common.pretrain_arguments(
        corpus=train,
        validation=held_out,
        preset=options.preset,
        vocabulary_size=2000,
        num_sampled=64,
        batch_tokens=640,
        steps=options.steps,
        devices=options.devices,
        validate_every=20,
        checkpoint_every=5,
    )
    return killing.command(arguments)


def differences(one: Path, other: Path) -> list[str]:
    """Returns the names of arrays that differ in any bit, among all that is kept."""
    arrays, others = dict(_arrays(one)), dict(_arrays(other))
    names = arrays.keys() | others.keys()
    return sorted(name for name in names if arrays.get(name) != others.get(name))


def _arrays(run: Path) -> Iterator[tuple[str, bytes]]:
    last = max((run / "checkpoints").iterdir())
    with np.load(last) as file:
        for name in file.files:
            if name != "progress.json":
                yield f"{last.name}: {name}", file[name].tobytes()
    names: list[str] = []
    with h5py.File(run / "weights.hdf5") as file:
        file.visit(names.append)
        for name in names:
            if isinstance(file[name], h5py.Dataset):
                yield f"weights.hdf5: {name}", file[name][...].tobytes()


def _history(run: Path) -> list[Any]:
    from keras_elmo.files.history import read_history

    rows = read_history(run / "history.csv")
    return [dataclasses.replace(row, seconds=0, words_per_second=0) for row in rows]


def table(result: common.Result) -> str:
    """Returns where the run was killed."""
    header = ["Preset", "Devices", "Steps", *killing.header(_PHASES)]
    header += ["Weights, optimizer, seeds", "Learning curves"]
    row = [
        *(str(result[name]) for name in ("preset", "devices", "steps")),
        *killing.counts(result["killed"], _PHASES),
        "bit-identical" if result["same_state"] else "DIFFERENT",
        "identical" if result["same_history"] else "DIFFERENT",
    ]
    return markdown_table(header, [row])


if __name__ == "__main__":
    main()
