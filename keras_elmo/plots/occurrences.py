"""Draws a word's vectors in several sentences."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_elmo.plots.picture import picture
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.types import StrPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rings and crosses are seen on top of each other.
_RINGS = ("o", "s", "^")
_MARKERS = ("o", "x", "s", "+", "^")


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
            sense for each; or the vectors are of different numbers of layers, or not
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
        face = "none" if marker in _RINGS else color
        edge = color if marker in _RINGS else None
        axes.scatter(
            x, y, s=36, marker=marker, label=sense, facecolors=face, edgecolors=edge
        )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.08)
