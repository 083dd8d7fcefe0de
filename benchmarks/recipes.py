"""Which recipe learns most in the same time? Optimizer, learning rate, and sizes.

Each recipe first runs for a moment, to see how many updates the time is worth, and then
for as many, so that a learning rate that falls has fallen to 0 at the end. Perplexity
is that of the held-out text, by the exact softmax over the same words.

    python benchmarks/recipes.py --text 'DATA/enwiki/train-*.txt.xz' \\
        --heldout DATA/enwiki/dev.txt.xz --minutes 6 --out recipes.json
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
from common import markdown_table

# What the wide filters of Korean are for: a syllable is three bytes.
_SYLLABLES = [[1, 32], [2, 32], [3, 96], [4, 64], [5, 64], [6, 128], [7, 64], [9, 128]]
# The pilot's measurements, in updates; the first has the graphs made.
_MEASURED_EVERY, _MEASUREMENTS = 20, 4


@dataclass(frozen=True)
class Recipe:
    """A way to train, beside the options that all share.

    Args:
        optimizer: `"adagrad"`, `"adam"` or `"muon"`.
        learning_rate: the greatest.
        falls: whether it rises for a twentieth of the time, and then falls to 0.
        batch_tokens: of an update.
        dropout: its rate.
        lstm: options of the LSTMs that differ from the preset's.
        characters: options of the character CNN that differ from the preset's.
    """

    optimizer: str = "adam"
    learning_rate: float = 0.004
    falls: bool = True
    batch_tokens: int = 1280
    dropout: float = 0.1
    lstm: Mapping[str, Any] = field(default_factory=dict)
    characters: Mapping[str, Any] = field(default_factory=dict)


RECIPES = {
    "published": Recipe("adagrad", 0.2, falls=False),
    "adagrad-falling": Recipe("adagrad", 0.2),
    "adam-constant": Recipe(falls=False, learning_rate=0.001),
    "adam": Recipe(),
    "muon": Recipe("muon"),
    "adam-0.002": Recipe(learning_rate=0.002),
    "adam-0.008": Recipe(learning_rate=0.008),
    "adam-no-dropout": Recipe(dropout=0.0),
    "adam-640-tokens": Recipe(batch_tokens=640),
    "adam-2560-tokens": Recipe(batch_tokens=2560),
    "adam-lstm-1024": Recipe(lstm={"dim": 1024}),
    "adam-projection-256": Recipe(lstm={"projection_dim": 256}),
    "adam-one-layer": Recipe(lstm={"n_layers": 1}),
    "adam-wide-filters": Recipe(characters={"filters": _SYLLABLES}),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; prints its table."""
    options = common.options(
        __doc__,
        arguments,
        text=(None, "files or glob patterns", {"required": True, "nargs": "+"}),
        heldout=(None, "held-out text", {"required": True}),
        recipes=(list(RECIPES), "", {"choices": list(RECIPES)}),
        minutes=6.0,
        preset="mini",
        vocabulary_size=30_000,
        num_sampled=1024,
        dtype="mixed_bfloat16",
    )
    runs = []
    for name in options.recipes:
        runs.append({"recipe": name, **_run(RECIPES[name], options)})
        print(runs[-1], file=sys.stderr)
    common.publish(options, table, runs=runs)


def _run(recipe: Recipe, options: argparse.Namespace) -> dict[str, Any]:
    """Returns what became of a recipe in its time."""
    with tempfile.TemporaryDirectory() as folder:
        steps, every = _MEASUREMENTS * _MEASURED_EVERY, _MEASURED_EVERY
        out = Path(folder, "pilot")
        pilot = _pretrain(recipe, options, out, steps=steps, validate_every=every)
        # In words: batches differ in how many of them are padding.
        speed = statistics.median(float(row["words_per_second"]) for row in pilot[1:])
        words_a_step = float(pilot[-1]["words"]) / float(pilot[-1]["step"])
        steps = round(60 * options.minutes * speed / words_a_step)
        out = Path(folder, "run")
        (row,) = _pretrain(recipe, options, out, steps=steps, validate_every=steps)
        command = ["evaluate", "--model", out, "--corpus", options.heldout]
        measured = json.loads(_keras_elmo(command).stdout)
        weights = json.loads((out / "options.json").read_text(encoding="utf-8"))
    return {
        "options": weights,
        "steps": steps,
        "words": int(row["words"]),
        "seconds": int(row["words"]) / float(row["words_per_second"]),
        "perplexity": measured["mean"],
    }


def _pretrain(
    recipe: Recipe, options: argparse.Namespace, out: Path, **limits: int
) -> list[dict[str, str]]:
    """Returns the rows of the run's history."""
    from keras_elmo.config import ElmoConfig

    sizes = ElmoConfig.preset(options.preset).to_options()
    sizes["dropout"] = recipe.dropout
    sizes["lstm"] |= recipe.lstm
    sizes["char_cnn"] |= recipe.characters
    described = out.with_suffix(".json")
    common.write_json(described, sizes)
    command = common.pretrain_arguments(
        out=out,
        options=described,
        optimizer=recipe.optimizer,
        learning_rate=recipe.learning_rate,
        dtype=options.dtype,
        batch_tokens=recipe.batch_tokens,
        vocabulary_size=options.vocabulary_size,
        num_sampled=options.num_sampled,
        **limits,
    )
    if recipe.falls:
        command += ["--schedule", "cosine"]
        command += ["--warmup-steps", str(limits["steps"] // 20)]
    _keras_elmo([*command, "--corpus", *options.text])
    with open(out / "history.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _keras_elmo(arguments: Sequence[Any]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "keras_elmo", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done


def table(result: common.Result) -> str:
    """Returns the figures, the best recipe of each result first."""
    header = ["Recipe", "Updates", "Million words", "Seconds", "Perplexity"]
    rows = [
        [
            run["recipe"],
            f"{run['steps']:,}",
            f"{run['words'] / 1e6:.2f}",
            f"{run['seconds']:,.0f}",
            f"{run['perplexity']:.1f}",
        ]
        for run in sorted(result["runs"], key=lambda run: run["perplexity"])
    ]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
