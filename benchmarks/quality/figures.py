"""The figures of the cards: perplexity by the tokens that a model has read."""

import csv
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from matplotlib.figure import Figure

# By the longest rows that the text was cut into.
_ROWS = {
    "64": ("C0", "rows of up to 64 words"),
    "256": ("C1", "rows of up to 256 words"),
}


def draw_perplexities(measured: Path, folder: Path) -> None:
    """Draws the perplexity of the development text while a shipped model was trained.

    Of each model of a CSV file, a line per run and length of rows. Tokens at
    measurements within a run are its share of the run's updates.
    """
    with open(measured, encoding="utf-8", newline="") as file:
        models = groupby(list(csv.DictReader(file)), itemgetter("model"))
    for model, rows in models:
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for color, label in _ROWS.values():
            axes.plot([], [], color=color, label=label)
        for (run, length), line in groupby(rows, itemgetter("run", "max_words")):
            points = [
                (float(row["million_tokens"]), float(row["perplexity"])) for row in line
            ]
            # Means of the weights of several runs are points.
            style = "D" if run.startswith("mean") else "o-"
            axes.plot(*zip(*points, strict=True), style, color=_ROWS[length][0])
        axes.set(xlabel="million tokens read")
        axes.set(ylabel="perplexity, development text")
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        figure.savefig(folder / f"perplexity-{model}.png", dpi=120)
