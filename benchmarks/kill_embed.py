"""Does `embed` survive being killed? SIGKILL at random moments, then the same command.

Embeds a text once undisturbed. Embeds it again with the same arguments and kills the
process some milliseconds after it has begun a phase - caching words, computing,
writing, reading or joining parts, finishing the file, or renaming it - and repeats the
command, with `--resume`, until it has been killed often enough; then lets it finish.
Compares the two files byte for byte. Once for either format.

    python benchmarks/kill_embed.py --kills 20 --out kill_embed.json
"""

import argparse
import filecmp
import random
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import common
import killing
from common import markdown_table, megabytes

_PHASES = {
    "cache": (1, 3, 20),
    "embed": (2, 6, 50),
    "write": (4, 6, 10),
    "read": (1, 3, 10),
    "join": (3, 6, 10),
    "finish": (1.5, 1, 10),
    "rename": (1.5, 1, 2),
}
_OUTPUTS = {
    "hdf5": ["--layers", "all", "--dtype", "float32"],
    "parquet": ["--layers", "mix", "--dtype", "float16"],
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    from keras_elmo.text.lines import read_lines

    options = common.options(
        __doc__,
        arguments,
        default_corpus="enwiki/dev.txt.xz",
        preset="tiny",
        lines=(20_000, "sentences"),
        part=(1536, "positions"),
        kills=(20, "of each format"),
        formats=(list(_OUTPUTS), "", {"choices": _OUTPUTS}),
        seed=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder, "text.txt"), Path(folder, "model")
        sentences = common.sentences(read_lines([str(options.corpus)]))
        lines = list(islice(sentences, options.lines))
        text.write_text("\n".join([*lines, ""]), encoding="utf-8")
        model.mkdir()
        common.call_in_process(
            "random_model", "write_random_model", options.preset, model
        )
        runs = [_run(suffix, text, model, options) for suffix in options.formats]
    # The text may have fewer sentences than `lines`.
    common.publish(
        options, table, sentences=len(lines), phases=list(_PHASES), runs=runs
    )
    if not all(run["identical"] for run in runs):
        raise SystemExit("the files differ")


def _run(
    suffix: str, text: Path, model: Path, options: argparse.Namespace
) -> dict[str, Any]:
    whole, out = (text.with_name(f"{name}.{suffix}") for name in ("whole", "killed"))
    parts = out.with_name(f"{out.name}.parts")
    arguments = ["embed", "--model", model, "--input", text, *_OUTPUTS[suffix]]
    killing.finish(killing.command([*arguments, "--out", whole], options.part))
    command = killing.command([*arguments, "--out", out, "--resume"], options.part)
    chance = random.Random(options.seed)
    kills = []
    for aim in killing.aims(_PHASES, options.kills, chance, once=["finish", "rename"]):
        if aim == "read" and not any(parts.glob("*.npy")):
            aim = "write"
        phase = killing.kill(command, aim, _PHASES, chance)
        left = len(list(parts.glob("*.npy")))
        kills.append({"aim": aim, "phase": phase, "parts": left})
        if out.exists():
            # It was killed when there was nothing left to do but to end.
            break
    # Also a complete file: parts may be left that were not removed yet.
    killing.finish(command)
    others = {path.name for path in text.parent.glob("killed.*")} - {out.name}
    run = {
        "format": suffix,
        "arguments": _OUTPUTS[suffix],
        "bytes": whole.stat().st_size,
        "killed": kills,
        "left": sorted(others),
        "identical": filecmp.cmp(whole, out, shallow=False) and not others,
    }
    whole.unlink()
    out.unlink()
    return run


def table(result: common.Result) -> str:
    """Returns where the runs were killed, a row a format."""
    # Another version of the writer has other phases.
    phases = result["phases"]
    header = ["Format", "Preset", "Sentences", "MB", *killing.header(phases), "Files"]
    rows = (
        [
            " ".join([run["format"], *run["arguments"]]),
            result["preset"],
            f"{result['sentences']:,}",
            megabytes(run["bytes"]),
            *killing.counts(run["killed"], phases),
            "byte-identical" if run["identical"] else "DIFFERENT",
        ]
        for run in result["runs"]
    )
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
