"""Perplexity of the development texts while the shipped models were trained.

Draws a picture of each model for its card, from the measurements of its runs. Tokens at
measurements within a run are its share of the run's updates.

    python benchmarks/training_curves.py
"""

import csv
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import common

from keras_elmo.utils.picture import picture

# By the longest rows that the text is cut into.
_KINDS = {
    "64": ("C0", "rows of up to 64 words"),
    "256": ("C1", "rows of up to 256 words"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    measured = Path(__file__).parent / "results" / "training_curves.csv"
    extra = {"type": common.existing, "metavar": "FILE"}
    options = common.options(
        __doc__,
        arguments,
        measured=(measured, "what was measured, after how many tokens", extra),
        folder=(common.ROOT / "docs" / "figures", "of the pictures", extra),
    )
    with open(options.measured, encoding="utf-8", newline="") as file:
        for model, rows in groupby(csv.DictReader(file), itemgetter("model")):
            draw(list(rows), options.folder / f"perplexity-{model}.png")


def draw(rows: list[dict[str, str]], path: Path) -> None:
    """Draws a line for each run and length of rows."""
    with picture(path, 7, 4) as figure:
        axes = figure.subplots()
        for color, label in _KINDS.values():
            axes.plot([], [], color=color, label=label)
        of_a_line = itemgetter("run", "max_words")
        for (run, max_words), line in groupby(rows, of_a_line):
            points = [
                (float(r["million_tokens"]), float(r["perplexity"])) for r in line
            ]
            # Means of the weights of several runs are points.
            style = "D" if run.startswith("mean") else "o-"
            axes.plot(*zip(*points, strict=True), style, color=_KINDS[max_words][0])
        axes.set(xlabel="million tokens read", ylabel="perplexity, development text")
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)


if __name__ == "__main__":
    main()
