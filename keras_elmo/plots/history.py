"""The learning curves of a run."""

import os
from collections.abc import Sequence
from math import exp, nan
from typing import Any

from keras_elmo.plots.picture import picture

# Of a run that has diverged; what is beyond leaves a gap, or there would be nothing
# else to see.
_HIGHEST_PERPLEXITY = 1e12


def plot_history(rows: Sequence[Any], path: str | os.PathLike[str]) -> bool:
    """Draws the learning curves of a run.

    Args:
        rows: of the run's history; what `keras_elmo.training.history.read_history`
            reads from a run's history.csv.
        path: the .png to write; one that stands there is replaced.

    Returns:
        Whether it was drawn: without matplotlib, or before there are two rows, there
        is no picture, and history.csv has it all.
    """
    if len(rows) < 2:
        return False
    try:
        with picture(path, 7, 4.5) as figure:
            _draw(figure.subplots(), rows)
    except ImportError:
        return False
    return True


def _draw(axes: Any, rows: Sequence[Any]) -> None:
    words = [row.words / 1e6 for row in rows]
    for direction, color in (("forward", "C0"), ("backward", "C1")):
        validated = [getattr(row, f"perplexity_{direction}") for row in rows]
        if any(value is not None for value in validated):
            axes.plot(
                words,
                [_shown(value) for value in validated],
                color=color,
                label=f"{direction}, validation",
            )
        trained = [exp(min(getattr(row, f"loss_{direction}"), 700)) for row in rows]
        axes.plot(
            words,
            [_shown(value) for value in trained],
            color=color,
            linestyle=":",
            label=f"{direction}, training (sampled, with dropout)",
        )
    axes.set(xlabel="million words read", ylabel="perplexity", yscale="log")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter("{x:,.0f}")
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False)


def _shown(perplexity: float | None) -> float:
    if perplexity is None or perplexity > _HIGHEST_PERPLEXITY:
        return nan
    return perplexity
