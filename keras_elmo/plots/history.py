"""Draws the learning curves of a run."""

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from keras_elmo.plots.data import read_csv
from keras_elmo.plots.picture import picture
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.types import StrPath

_COLUMNS = (
    "words",
    *("loss_forward", "loss_backward"),
    *("perplexity_forward", "perplexity_backward"),
)


def plot_history(rows: StrPath | Sequence[Any], path: StrPath) -> bool:
    """Draws the learning curves of a run.

    Args:
        rows: the run's folder, its history.csv, or rows with its columns as attributes.
        path: the .png file to write or to replace.

    Returns:
        Whether the picture was drawn, which takes two rows and matplotlib.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file holds something else.

    Example:

    ```python
    from keras_elmo.plots import plot_history
    from keras_elmo.files.run_history import HistoryRow, write_history

    rows = [
        HistoryRow(k, 0, 1000 * k, 9.0 * k, 2e3, 0.2, 1.5, 7 / k, 7 / k) for k in (1, 2)
    ]
    write_history("history.csv", rows)
    plot_history("history.csv", "history.png")
    ```
    """
    if isinstance(rows, str | os.PathLike):
        file = os.path.join(rows, "history.csv") if os.path.isdir(rows) else rows
        return plot_history(
            [SimpleNamespace(**row) for row in read_csv(file, *_COLUMNS)], path
        )
    check_type(Sequence, "a file or rows of it", rows=rows)
    # Whatever has these attributes.
    points: Sequence[Any] = rows
    if len(points) < 2:
        return False
    try:
        with picture(path, 7, 4.5) as figure:
            axes = figure.subplots()
            words = [row.words / 1e6 for row in points]
            for direction, color in (("forward", "C0"), ("backward", "C1")):
                validated = [getattr(row, f"perplexity_{direction}") for row in points]
                label = f"{direction}, validation"
                if any(value is not None for value in validated):
                    axes.plot(words, _shown(validated), color=color, label=label)
                losses = [getattr(row, f"loss_{direction}") for row in points]
                trained = np.exp(np.minimum(losses, 700))
                label = f"{direction}, training (sampled, with dropout)"
                axes.plot(words, _shown(trained), ":", color=color, label=label)
            axes.set(xlabel="million words read", ylabel="perplexity", yscale="log")
            axes.yaxis.set_major_formatter("{x:,.0f}")
            axes.yaxis.set_minor_formatter("{x:,.0f}")
            axes.grid(alpha=0.3, which="both")
            axes.legend(frameon=False)
    except ImportError:
        return False
    return True


def _shown(perplexities: Sequence[float | None] | np.ndarray) -> np.ndarray:
    array = np.array(perplexities, "float64")
    # A run that diverges has higher ones, and nothing else would be seen.
    return np.where(array > 1e12, np.nan, array)
