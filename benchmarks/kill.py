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

import dataclasses
import random
import sys
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

# Of each phase: how often it is aimed at, which of its next occurrences at most, and
# how many milliseconds of it may pass. A step of a tiny model takes some twenty.
_PHASES = {
    "count": (1, 1, 500),
    "step": (3, 8, 30),
    "validation": (3, 1, 300),
    "weights": (2, 1, 20),
    "checkpoint": (3, 3, 30),
}
# Where it can die.
_PLACES = (*_PHASES, "between")
_STEPS_BETWEEN_CHECKPOINTS = 5
_STEPS_BETWEEN_MEASUREMENTS = 20
_HELD_OUT_LINES = 50


@dataclasses.dataclass
class Kill:
    """A process that was killed.

    Attributes:
        aim: the phase that was waited for.
        phase: the one it was in when it died; "between" two of them.
        step: of the last checkpoint that it left.
    """

    aim: str
    phase: str
    step: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        corpus="enwiki/dev.txt.xz",
        lines=2000,
        preset="tiny",
        steps=600,
        devices=1,
        kills=30,
        seed=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        text = _text(options.corpus, options.lines, Path(folder))
        command = _command(options, text)
        whole, killed = Path(folder, "whole"), Path(folder, "killed")
        killing.finish([*command, "--out", str(whole)])
        kills = _killed_often([*command, "--out", str(killed)], killed, options)
        killing.finish([*command, "--out", str(killed), "--resume"])
        same = differences(whole, killed) == []
        rows = _history(whole) == _history(killed)
    figures = {"same_state": same, "same_history": rows}
    common.publish(
        options, table, killed=[dataclasses.asdict(kill) for kill in kills], **figures
    )
    if not (same and rows):
        raise SystemExit("the runs differ")


def differences(one: Path, other: Path) -> list[str]:
    """Returns the names of arrays that differ in any bit, among all that is kept."""
    arrays, others = dict(_arrays(one)), dict(_arrays(other))
    return sorted(
        name
        for name in arrays.keys() | others.keys()
        if name not in arrays
        or name not in others
        or arrays[name].tobytes() != others[name].tobytes()
    )


def _arrays(run: Path) -> Iterator[tuple[str, Any]]:
    last = max((run / "checkpoints").iterdir())
    with np.load(last) as file:
        for name in sorted(file.files):
            if name != "progress.json":
                yield f"{last.name}: {name}", file[name]
    names: list[str] = []
    with h5py.File(run / "weights.hdf5") as file:
        file.visit(names.append)
        for name in names:
            if isinstance(file[name], h5py.Dataset):
                yield f"weights.hdf5: {name}", file[name][...]


def _history(run: Path) -> list[Any]:
    from keras_elmo.training.history import read_history

    rows = read_history(run / "history.csv")
    return [dataclasses.replace(row, seconds=0, words_per_second=0) for row in rows]


def _text(corpus: Path, lines: int, folder: Path) -> tuple[Path, Path]:
    """Writes the text to train on, and less to validate with."""
    from keras_elmo.text.lines import read_lines

    train, held_out = folder / "train.txt", folder / "held-out.txt"
    read = read_lines([str(corpus)])
    for path, count in ((train, lines), (held_out, _HELD_OUT_LINES)):
        path.write_text("\n".join(islice(read, count)) + "\n", encoding="utf-8")
    return train, held_out


def _command(options: Any, text: tuple[Path, Path]) -> list[str]:
    arguments = common.pretrain_arguments(
        corpus=text[0],
        validation=text[1],
        preset=options.preset,
        vocabulary_size=2000,
        num_sampled=64,
        batch_tokens=640,
        steps=options.steps,
        devices=options.devices,
        validate_every=_STEPS_BETWEEN_MEASUREMENTS,
        checkpoint_every=_STEPS_BETWEEN_CHECKPOINTS,
    )
    child = Path(__file__).with_name("killed_run.py")
    return [sys.executable, str(child), *arguments]


def _killed_often(command: Sequence[str], run: Path, options: Any) -> list[Kill]:
    chance = random.Random(options.seed)
    aims = list(_aims(options.kills, chance))
    kills: list[Kill] = []
    while len(kills) < options.kills:
        aim = aims[len(kills)]
        _, latest, milliseconds = _PHASES[aim]
        phase = killing.kill([*command, "--resume"], aim, latest, milliseconds, chance)
        if phase is None:
            raise SystemExit("the run finished before it was killed: more --steps")
        steps = [int(path.stem[-8:]) for path in run.glob("checkpoints/step-*.npz")]
        kills.append(Kill(aim, phase, max(steps, default=0)))
        print(kills[-1], file=sys.stderr, flush=True)
    return kills


def _aims(kills: int, chance: random.Random) -> Iterator[str]:
    """The words are counted before all else, so that is when it can be killed there."""
    weights = {phase: weight for phase, (weight, _, _) in _PHASES.items()}
    count = round(kills * weights.pop("count") / (1 + sum(weights.values())))
    yield from ["count"] * count
    yield from chance.choices(list(weights), list(weights.values()), k=kills - count)


def table(result: common.Result) -> str:
    """Returns where the run was killed."""
    header = ["Preset", "Devices", "Steps", "Killed", *_PLACES]
    header += ["Weights, optimizer, seeds", "Learning curves"]
    phases = [kill["phase"] for kill in result["killed"]]
    row = [
        result["preset"],
        str(result["devices"]),
        str(result["steps"]),
        str(len(phases)),
        *(str(phases.count(name)) for name in _PLACES),
        "bit-identical" if result["same_state"] else "DIFFERENT",
        "identical" if result["same_history"] else "DIFFERENT",
    ]
    return markdown_table(header, [row])


if __name__ == "__main__":
    main()
