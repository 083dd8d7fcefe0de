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
from markdown_table import markdown_table

OPTIONS = ("preset", "steps", "devices", "kills", "seed")

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
    parser = common.parser(__doc__, "enwiki/dev.txt.xz")
    parser.add_argument("--lines", type=int, default=2000, metavar="N", help="(2000)")
    parser.add_argument("--preset", default="tiny", help="(tiny)")
    parser.add_argument("--steps", type=int, default=600, metavar="N", help="(600)")
    parser.add_argument("--devices", type=int, default=1, metavar="N", help="(1)")
    parser.add_argument("--kills", type=int, default=30, metavar="N", help="(30)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(0)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        text = _text(common.corpus(options), options.lines, Path(folder))
        command = _command(options, text)
        whole, killed = Path(folder, "whole"), Path(folder, "killed")
        killing.finish([*command, "--out", str(whole)])
        kills = _killed_often([*command, "--out", str(killed)], killed, options)
        killing.finish([*command, "--out", str(killed), "--resume"])
        same = differences(whole, killed) == []
        rows = _history(whole) == _history(killed)
    result = {
        "benchmark": "kill",
        **common.settings(options, OPTIONS),
        "lines": options.lines,
        "killed": [dataclasses.asdict(kill) for kill in kills],
        "same_state": same,
        "same_history": rows,
    }
    common.publish(result, table, options.out)
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
    train, held_out = text
    arguments = {
        "corpus": train,
        "validation": held_out,
        "preset": options.preset,
        "vocabulary-size": 2000,
        "num-sampled": 64,
        "batch-tokens": 640,
        "steps": options.steps,
        "devices": options.devices,
        "validate-every": _STEPS_BETWEEN_MEASUREMENTS,
        "checkpoint-every": _STEPS_BETWEEN_CHECKPOINTS,
    }
    child = Path(__file__).with_name("killed_run.py")
    named = [str(part) for k, v in arguments.items() for part in (f"--{k}", v)]
    return [sys.executable, str(child), "pretrain", *named]


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


def table(results: Sequence[common.Result]) -> str:
    """Returns where the runs were killed, a row a run."""
    header = [
        "Preset",
        "Devices",
        "Steps",
        "Killed",
        *_PLACES,
        "Weights, optimizer, seeds",
        "Learning curves",
    ]
    return markdown_table(header, map(_table_row, results))


def _table_row(result: common.Result) -> list[str]:
    phases = [kill["phase"] for kill in result["killed"]]
    return [
        result["preset"],
        str(result["devices"]),
        str(result["steps"]),
        str(len(phases)),
        *(str(phases.count(name)) for name in _PLACES),
        "bit-identical" if result["same_state"] else "DIFFERENT",
        "identical" if result["same_history"] else "DIFFERENT",
    ]


if __name__ == "__main__":
    main()
