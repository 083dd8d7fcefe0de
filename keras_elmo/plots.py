"""Draws runs, mixes and vectors as PNG files; needs the extra `plots`."""

import contextlib
import csv
import os
import textwrap
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from keras_elmo.utils.checks import check_type
from keras_elmo.utils.picture import picture
from keras_elmo.utils.types import StrPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_history", "plot_mix_weights", "plot_occurrences"]

_HISTORY_COLUMNS = (
    "words",
    *("loss_forward", "loss_backward"),
    *("perplexity_forward", "perplexity_backward"),
)
# A run that diverges has higher ones, and nothing else would be seen.
_HIGHEST_PERPLEXITY = 1e12
# Rings and crosses are seen on top of each other.
_RINGS = ("o", "s", "^")
_MARKERS = ("o", "x", "s", "+", "^")


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
        columns = read_csv(file, *_HISTORY_COLUMNS)
        rows = [SimpleNamespace(**row) for row in columns]
    check_type(Sequence, "a file or rows of it", rows=rows)
    # Whatever has these attributes.
    points: Sequence[Any] = rows
    if len(points) < 2:
        return False
    with contextlib.suppress(ImportError), picture(path, 7, 4.5) as figure:
        axes = figure.subplots()
        words = [point.words / 1e6 for point in points]
        for direction, color in (("forward", "C0"), ("backward", "C1")):
            validated = [getattr(point, f"perplexity_{direction}") for point in points]
            losses = [getattr(point, f"loss_{direction}") for point in points]
            trained = np.exp(np.minimum(losses, 700))
            for perplexities, style, label in (
                (validated, "-", "validation"),
                (trained, ":", "training (sampled, with dropout)"),
            ):
                curve = np.array(perplexities, "float64")
                curve[curve > _HIGHEST_PERPLEXITY] = np.nan
                if any(value is not None for value in perplexities):
                    label = f"{direction}, {label}"
                    axes.plot(words, curve, style, color=color, label=label)
        axes.set(xlabel="million words read", ylabel="perplexity", yscale="log")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_minor_formatter("{x:,.0f}")
        axes.grid(alpha=0.3, which="both")
        axes.legend(frameon=False)
        return True
    return False


def plot_mix_weights(
    mixes: StrPath | Mapping[str, Sequence[Sequence[float]]], path: StrPath
) -> None:
    """Draws the weights of the layers in the mix, a group of bars for each task.

    A bar is the mean of the seeds; the line on it is their range.

    Args:
        mixes: for each task, `softmax(s)` of each seed; or a file that
            `MixWeightsLogger` wrote, whose last epoch is drawn.
        path: the .png file to write or to replace.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no mix, the numbers of layers differ, or the file holds
            something else.

    Example:

    ```python
    from keras_elmo.plots import plot_mix_weights

    plot_mix_weights({"tagging": [[0.2, 0.5, 0.3], [0.1, 0.6, 0.3]]}, "mix.png")
    ```

    Reference: Peters et al. 2018, figure 2.
    """
    if isinstance(mixes, str | os.PathLike):
        mixes = last_mixes(read_csv(mixes, "epoch"))
    check_type(Mapping, "a file or a dictionary", mixes=mixes)
    shapes = {np.shape(mix) for seeds in mixes.values() for mix in seeds}
    if len(shapes) != 1 or len(min(shapes)) != 1 or not all(map(len, mixes.values())):
        raise ValueError(
            "`mixes` must hold, for each task, mixes of one number of layers. "
            f"Received: mixes of the shapes {sorted(shapes)}"
        )
    weights = [np.asarray(seeds, dtype="float64") for seeds in mixes.values()]
    num_layers = weights[0].shape[1]
    bar = 0.8 / num_layers
    with picture(path, max(4.0, 1.2 * len(mixes) + 1.5), 3.5) as figure:
        axes = figure.subplots()
        for layer in range(num_layers):
            seeds = [mix[:, layer] for mix in weights]
            means = np.array([shares.mean() for shares in seeds])
            below = means - [shares.min() for shares in seeds]
            above = [shares.max() for shares in seeds] - means
            # The mean of equal numbers may differ from them by a rounding error.
            errors = np.maximum([below, above], 0)
            x = np.arange(len(mixes)) + (layer - (num_layers - 1) / 2) * bar
            label = f"layer {layer}"
            axes.bar(x, means, width=bar, yerr=errors, capsize=2, label=label)
        axes.axhline(1 / num_layers, color="0.4", linewidth=0.8, linestyle=":")
        names = [textwrap.fill(name, width=14) for name in mixes]
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel="weight of the layer", ylim=(0, None))
        # Above the bars, which fill the panel from side to side.
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        axes.legend(frameon=False, ncols=num_layers, **place)


def plot_occurrences(
    words: Mapping[str, tuple[np.ndarray, Sequence[str]]], path: StrPath
) -> None:
    """Draws the vectors of words in context, coloured by sense.

    Rows are words and columns are layers, without layer 0, where a word has the same
    vector in every sentence. A panel shows the first two principal components.

    Args:
        words: for each word, the vectors of its occurrences, `(occurrences,
            num_layers + 1, units)`, and the sense of each occurrence.
        path: the .png file to write or to replace.

    Raises:
        ValueError: there is no word; a word has fewer than two vectors, or not one
            sense for each; the vectors have different numbers of layers, or are not
            finite.

    Example:

    ```python
    from keras_elmo.plots import plot_occurrences

    vectors = np.random.default_rng(0).normal(size=(4, 3, 8))
    senses = ["river", "money", "river", "money"]
    plot_occurrences({"bank": (vectors, senses)}, "senses.png")
    ```
    """
    check_type(Mapping, "a dictionary", words=words)
    for word, (vectors, senses) in words.items():
        if not 2 <= len(vectors) == len(senses):
            raise ValueError(
                "`words` must hold a sense for each of at least two vectors. Received: "
                f"{len(vectors)} vectors and {len(senses)} senses of {word!r}"
            )
        if not np.isfinite(vectors).all():
            raise ValueError(
                f"`words` must hold finite vectors. Received: others of {word!r}"
            )
    depths = {vectors.shape[1] for vectors, _ in words.values()}
    if len(depths) != 1:
        raise ValueError(
            "`words` must hold a word, and vectors of one number of layers. "
            f"Received: {sorted(depths)}"
        )
    (num_layers,) = depths
    # In layer 0 there is nothing to see but forms of the word, or a model of one layer.
    layers = range(min(1, num_layers - 1), num_layers)
    with picture(path, 3.4 * len(layers) + 1.6, 3.3 * len(words)) as figure:
        rows = figure.subplots(len(words), len(layers), squeeze=False)
        for row, (word, (vectors, senses)) in zip(rows, words.items(), strict=True):
            for layer, axes in zip(layers, row, strict=True):
                _scatter(axes, vectors[:, layer], senses)
                axes.set_title(f"{word}, layer {layer}")
            # Beside the points, not on them.
            row[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


def _scatter(axes: "Axes", vectors: np.ndarray, senses: Sequence[str]) -> None:
    # NumPy decomposes no matrices of half precision, which files of vectors may hold.
    vectors = vectors.astype("float64")
    centred = vectors - vectors.mean(0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    # Equal vectors: without this, rounding errors look like a cloud.
    points = np.round(centred @ components[:2].T, 4)
    for number, sense in enumerate(dict.fromkeys(senses)):
        x, y = points[[label == sense for label in senses]].T
        marker = _MARKERS[number % len(_MARKERS)]
        color = f"C{number}"
        face, edge = ("none", color) if marker in _RINGS else (color, None)
        axes.scatter(
            x, y, s=36, marker=marker, label=sense, facecolors=face, edgecolors=edge
        )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.08)


# === CSV files that plots are drawn from ===


def read_csv(path: StrPath, *columns: str) -> list[dict[str, float | None]]:
    """Reads rows of numbers; an empty cell is `None`, a missing column an error."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return parse_csv(file, os.fspath(path), *columns)


def parse_csv(file: TextIO, name: str, *columns: str) -> list[dict[str, float | None]]:
    """Does so for an open file, which messages call `name`."""
    reader = csv.DictReader(file)
    try:
        names = reader.fieldnames or ()
    except csv.Error:
        # The file is no CSV.
        names = ()
    for column in columns:
        if column not in names:
            raise ValueError(f"{name}: lacks the column {column}")
    try:
        return [
            {name: float(cell) if cell else None for name, cell in row.items()}
            for row in reader
        ]
    except (TypeError, ValueError, csv.Error) as error:
        where = f"{name}: line {reader.line_num}"
        raise ValueError(f"{where} must hold numbers: {error}") from error


def last_mixes(
    rows: Sequence[Mapping[str, float | None]],
) -> dict[str, list[list[float]]]:
    """Returns the mixes of the last row, by the names of their layers in Keras."""
    mixes: dict[str, list[list[float]]] = {}
    for row in rows[-1:]:
        for name, value in row.items():
            prefix, separator, layer = name.rpartition("/layer_")
            if separator and layer.isdigit() and value is not None:
                mixes.setdefault(prefix, [[]])[0].append(value)
    return mixes
