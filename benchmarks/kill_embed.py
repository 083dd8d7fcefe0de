"""Does `embed` survive being killed? SIGKILL at random moments, then the same command.

Embeds a text once undisturbed. Embeds it again with the same arguments and kills the
process some milliseconds after it has begun a phase - reading over the lines that are
there, writing vectors, bringing them to the disk, taking note of it, or writing the
index, which is first for HDF5 and last for Parquet - and repeats the command, with
`--resume`, until it has been killed often enough; then lets it finish. Compares the two
files byte for byte. Once for either format.

    python benchmarks/kill_embed.py --kills 20 --out kill_embed.json
"""

import argparse
import dataclasses
import filecmp
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
import killing
from common import markdown_table, megabytes

# Of each phase: how often it is aimed at, which of its next occurrences at most, and
# how many milliseconds of it and of what follows may pass.
_PHASES = {
    "skip": (2, 1, 300),
    "write": (4, 12, 10),
    "checkpoint": (3, 3, 20),
    "note": (2, 3, 4),
}
# Where it can die.
_PLACES = (*_PHASES, "index", "rename", "between")
_SHARE_OF_THE_INDEX = 0.2
_OUTPUTS = {
    "hdf5": ["--layers", "all", "--dtype", "float32"],
    "parquet": ["--layers", "mix", "--dtype", "float16"],
}


Aim = tuple[str, int, float]


@dataclasses.dataclass
class Kill:
    """A process that was killed.

    Attributes:
        aim: the phase that was waited for.
        phase: the one it was in when it died; "between" two of them.
        lines: of the text that it left, to go on from.
    """

    aim: str
    phase: str
    lines: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    from keras_elmo.text.lines import read_lines

    options = common.options(
        __doc__,
        arguments,
        corpus="enwiki/dev.txt.xz",
        preset="tiny",
        lines=(20_000, "sentences"),
        section=(1536, "positions"),
        kills=(20, "of each format"),
        formats=(list(_OUTPUTS), "", {"choices": _OUTPUTS}),
        seed=0,
    )
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder, "text.txt"), Path(folder, "model")
        sentences = common.sentences(read_lines([str(options.corpus)]))
        lines = list(islice(sentences, options.lines))
        text.write_text("\n".join([*lines, ""]), encoding="utf-8")
        model.mkdir()
        common.call_in_process(
            "random_model", "write_random_model", options.preset, model
        )
        for suffix in options.formats:
            runs.append(_run(suffix, text, model, options))
    # The text may have fewer sentences than `lines`.
    common.publish(options, table, sentences=len(lines), runs=runs)
    if not all(run["identical"] for run in runs):
        raise SystemExit("the files differ")


def _run(
    suffix: str, text: Path, model: Path, options: argparse.Namespace
) -> dict[str, Any]:
    child = Path(__file__).with_name("killed_embed.py")
    command = [sys.executable, str(child), str(options.section), "embed"]
    command += ["--model", str(model), "--input", str(text), *_OUTPUTS[suffix]]
    whole, killed = (
        text.with_name(f"whole.{suffix}"),
        text.with_name(f"killed.{suffix}"),
    )
    killing.finish([*command, "--out", str(whole)])
    again = [*command, "--out", str(killed), "--resume"]
    kills = _killed_often(again, killed, options)
    if not killed.exists():
        killing.finish(again)
    left = {path.name for path in text.parent.glob("killed.*")} - {killed.name}
    run = {
        "format": suffix,
        "arguments": _OUTPUTS[suffix],
        "bytes": whole.stat().st_size,
        "killed": [dataclasses.asdict(kill) for kill in kills],
        "left": sorted(left),
        "identical": filecmp.cmp(whole, killed, shallow=False) and not left,
    }
    whole.unlink()
    killed.unlink()
    return run


def _killed_often(
    command: Sequence[str], out: Path, options: argparse.Namespace
) -> list[Kill]:
    chance = random.Random(options.seed)
    kills: list[Kill] = []
    for aim, latest, milliseconds in aims(out.suffix, options.kills, chance):
        phase = killing.kill(command, aim, latest, milliseconds, chance)
        if phase is None:
            raise SystemExit("the file was finished before that: more --lines")
        kills.append(Kill(aim, phase, _kept_lines(out)))
        print(kills[-1], file=sys.stderr, flush=True)
        if out.exists():
            # It was killed when there was nothing left to do but to end.
            break
    return kills


def aims(suffix: str, kills: int, chance: random.Random) -> list[Aim]:
    """Returns, for each kill, the phase, its occurrence at most, and milliseconds."""
    of_index = max(1, round(_SHARE_OF_THE_INDEX * kills))
    weights = [weight for weight, *_ in _PHASES.values()]
    names = chance.choices(list(_PHASES), weights, k=kills - of_index)
    others = [(name, *_PHASES[name][1:]) for name in names]
    # It is there once: a file of HDF5 begins with it, and one of Parquet ends.
    if suffix == ".hdf5":
        return [("index", 1, 800)] * of_index + others
    return others + [("index", 1, 5)] * of_index


def _kept_lines(out: Path) -> int:
    state = out.with_name(f"{out.name}.unfinished.json")
    try:
        return int(json.loads(state.read_text(encoding="utf-8"))["lines"])
    except FileNotFoundError:
        return 0


def table(result: common.Result) -> str:
    """Returns where the runs were killed, a row a format."""
    header = ["Format", "Preset", "Sentences", "MB", "Killed", *_PLACES, "Files"]
    rows = (_table_row(result, run) for run in result["runs"])
    return markdown_table(header, rows)


def _table_row(result: common.Result, run: dict[str, Any]) -> list[str]:
    phases = [kill["phase"] for kill in run["killed"]]
    return [
        " ".join([run["format"], *run["arguments"]]),
        result["preset"],
        f"{result['sentences']:,}",
        megabytes(run["bytes"]),
        str(len(phases)),
        *(str(phases.count(name)) for name in _PLACES),
        "byte-identical" if run["identical"] else "DIFFERENT",
    ]


if __name__ == "__main__":
    main()
