"""A word's vectors in each layer of a biLM, coloured by sense."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_elmo.plots.picture import picture


def plot_occurrences(
    words: Mapping[str, tuple[np.ndarray, Sequence[str]]],
    path: str | os.PathLike[str],
) -> None:
    """Draws where the occurrences of words lie, a row for each word.

    A panel shows one layer, in the plane in which its vectors differ most.

    Args:
        words: of each word the vectors of its occurrences, `(occurrences, num_layers +
            1, units)`, and the sense of each.
        path: the .png to write; one that stands there is replaced.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there is no word, or a word has not as many senses as vectors, or
            fewer than two; or the words' vectors are of different numbers of layers, or
            not finite.
    """
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
    if not words:
        raise ValueError("`words` must hold a word. Received: words={}")
    depths = {vectors.shape[1] for vectors, _ in words.values()}
    if len(depths) > 1:
        raise ValueError(
            "`words` must hold vectors of one number of layers. "
            f"Received: {sorted(depths)}"
        )
    (num_layers,) = depths
    with picture(path, 3.6 * num_layers, 3.3 * len(words)) as figure:
        rows = figure.subplots(len(words), num_layers, squeeze=False)
        for row, (word, (vectors, senses)) in zip(rows, words.items(), strict=True):
            for layer, panel in enumerate(row):
                _scatter(panel, vectors[:, layer], senses)
                note = "" if layer else " (the word alone)"
                panel.set_title(f"{word}, layer {layer}{note}")
            row[-1].legend(loc="best", fontsize="small")


def _scatter(panel: Any, vectors: np.ndarray, senses: Sequence[str]) -> None:
    # NumPy decomposes nothing of half precision, which files of vectors may hold.
    vectors = vectors.astype("float64")
    centred = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    # A word has one vector in layer 0; without this, rounding errors look like a cloud.
    plane = np.round(plane, 4)
    for number, sense in enumerate(dict.fromkeys(senses)):
        points = plane[[each == sense for each in senses]]
        panel.scatter(*points.T, s=14, alpha=0.7, color=f"C{number}", label=sense)
    panel.set_xticks([])
    panel.set_yticks([])
