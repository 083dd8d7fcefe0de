"""Does `embed` survive being killed? SIGKILL at random moments, then the same command.

Embeds a text once undisturbed. Embeds it again with the same arguments and kills the
process some milliseconds after it has begun a phase - caching words, computing,
writing, reading or joining parts, finishing the file, or renaming it - and repeats the
command, with `--resume`, until it has been killed often enough; then lets it finish.
Compares the two files byte for byte. Once for either format.

    python benchmarks/kill_embed.py --kills 20 --out kill_embed.json
"""

import argparse
import dataclasses
import filecmp
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
    "cache": (1, 3, 20),
    "embed": (2, 6, 50),
    "write": (4, 6, 10),
    "read": (1, 3, 10),
    "join": (3, 6, 10),
}
# They are there once, at the end.
_LAST = {"finish": (1, 1, 10), "rename": (1, 1, 2)}
# Where it can die.
_PLACES = (*_PHASES, *_LAST, "between")
_SHARE_OF_THE_LAST = 0.2
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
        parts: that it left, to go on from.
    """

    aim: str
    phase: str
    parts: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    from keras_elmo.text.lines import read_lines

    options = common.options(
        __doc__,
        arguments,
        corpus="enwiki/dev.txt.xz",
        preset="tiny",
        lines=(20_000, "sentences"),
        part=(1536, "positions"),
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
    command = [sys.executable, str(child), str(options.part), "embed"]
    command += ["--model", str(model), "--input", str(text), *_OUTPUTS[suffix]]
    whole, killed = (
        text.with_name(f"whole.{suffix}"),
        text.with_name(f"killed.{suffix}"),
    )
    killing.finish([*command, "--out", str(whole)])
    again = [*command, "--out", str(killed), "--resume"]
    kills = _killed_often(again, killed, options)
    # Also a complete file: parts may be left that were not removed yet.
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
    for aim, latest, milliseconds in aims(options.kills, chance):
        if aim == "read" and not _parts(out):
            aim = "write"
        phase = killing.kill(command, aim, latest, milliseconds, chance)
        if phase is None:
            raise SystemExit("the file was finished before that: more --lines")
        kills.append(Kill(aim, phase, _parts(out)))
        print(kills[-1], file=sys.stderr, flush=True)
        if out.exists():
            # It was killed when there was nothing left to do but to end.
            break
    return kills


def aims(kills: int, chance: random.Random) -> list[Aim]:
    """Returns, for each kill, the phase, its occurrence at most, and milliseconds."""
    of_last = max(1, round(_SHARE_OF_THE_LAST * kills))
    weights = [weight for weight, *_ in _PHASES.values()]
    names = chance.choices(list(_PHASES), weights, k=kills - of_last)
    last = (list(_LAST) * of_last)[:of_last]
    # What is renamed is not there to be killed again.
    last.sort()
    phases = {**_PHASES, **_LAST}
    return [(name, *phases[name][1:]) for name in [*names, *last]]


def _parts(out: Path) -> int:
    return len(list(out.with_name(f"{out.name}.parts").glob("*.npy")))


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
