"""The figures of docs/figures: scores by layer, and perplexities."""

import contextlib
import csv
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

_ABOVE = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "frameon": False}
# By the longest rows that the text was cut into.
_ROWS = {
    "64": ("C0", "rows of up to 64 words"),
    "256": ("C1", "rows of up to 256 words"),
}


@contextlib.contextmanager
def _picture(path: Path, width: float, height: float) -> Iterator[Figure]:
    """Yields a figure of some inches, and saves it."""
    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    figure.savefig(path, dpi=120)


def _spread(points: Sequence[Sequence[float]]) -> np.ndarray:
    """Returns the means of the points' seeds, and how far they go below and above."""
    means = np.array([np.mean(seeds) for seeds in points])
    below = means - [min(seeds) for seeds in points]
    above = [max(seeds) for seeds in points] - means
    # The mean of equal numbers may differ from them by a rounding error.
    return np.array([means, np.maximum(below, 0), np.maximum(above, 0)])


def draw_layers(
    scores: Mapping[str, Sequence[Sequence[float]]],
    path: Path,
    baselines: Mapping[str, float],
) -> None:
    """Draws how many points each layer gains over layer 0, a group of bars per task.

    A bar is the mean of the seeds, with its score beside it, the best one in black; the
    line on it is their range.

    Args:
        scores: for each task, for each layer from 0, the scores of the seeds.
        path: of the picture.
        baselines: for a task, the score to draw a line at.

    Reference: Peters et al. 2018, tables 5 and 6.
    """
    num_bars = max(map(len, scores.values())) - 1
    bar = 0.8 / num_bars
    with _picture(path, 7.5, 0.75 * len(scores) + 1) as figure:
        axes = figure.subplots()
        names = []
        for place, (task, layers) in enumerate(scores.items()):
            means, below, above = _spread(layers)
            names.append(f"{textwrap.fill(task, width=40)}\nlayer 0: {means[0]:.1f} %")
            for layer in range(1, len(means)):
                y = place + (layer - 1 - (num_bars - 1) / 2) * bar
                gain = means[layer] - means[0]
                error = [[below[layer]], [above[layer]]]
                color, label = f"C{layer}", f"layer {layer}"
                axes.barh(y, gain, bar, xerr=error, color=color, label=label)
                axes.annotate(
                    f"{means[layer]:.1f}",
                    (gain + above[layer], y),
                    color="black" if layer == np.argmax(means) else "0.5",
                    xytext=(4, 0),
                    textcoords="offset points",
                    verticalalignment="center",
                )
            if task in baselines:
                x = baselines[task] - means[0]
                axes.plot([x, x], [place - 0.45, place + 0.45], "k:", label="baseline")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set(xlabel="points more than layer 0, the word without its context")
        axes.grid(alpha=0.3, axis="x")
        labelled = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        axes.legend(labelled.values(), labelled, ncols=len(labelled), **_ABOVE)


def draw_perplexities(measured: Path, folder: Path) -> None:
    """Draws the perplexity of the development text while a shipped model was trained.

    Of each model of a CSV file, a line per run and length of rows. Tokens at
    measurements within a run are its share of the run's updates.
    """
    with open(measured, encoding="utf-8", newline="") as file:
        models = groupby(list(csv.DictReader(file)), itemgetter("model"))
    for model, rows in models:
        with _picture(folder / f"perplexity-{model}.png", 7, 4) as figure:
            axes = figure.subplots()
            for color, label in _ROWS.values():
                axes.plot([], [], color=color, label=label)
            for (run, length), line in groupby(rows, itemgetter("run", "max_words")):
                points = [
                    (float(row["million_tokens"]), float(row["perplexity"]))
                    for row in line
                ]
                # Means of the weights of several runs are points.
                style = "D" if run.startswith("mean") else "o-"
                axes.plot(*zip(*points, strict=True), style, color=_ROWS[length][0])
            axes.set(xlabel="million tokens read")
            axes.set(ylabel="perplexity, development text")
            axes.set_xlim(left=0)
            axes.grid(alpha=0.3)
            axes.legend(frameon=False)
