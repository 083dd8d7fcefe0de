"""The demo's picture: words' vectors in each biLSTM layer, coloured by sense."""

from pathlib import Path

import numpy as np

import keras_elmo
from keras_elmo.plots import plot_occurrences


def draw_senses(encoder, data, words: tuple[str, ...], path: Path) -> None:
    """Draws the vectors of `words`, a row for each word and a column for each layer
    above layer 0.

    Args:
        encoder: the biLM.
        data: has `tokens`, `positions`, `words` and `senses`, one of each a sentence.
        words: which words.
        path: of the PNG file.
    """
    occurrences = {}
    for word in words:
        chosen = np.flatnonzero(data.words == word)
        senses = [sense.removeprefix(f"{word} ") for sense in data.senses[chosen]]
        occurrences[word] = _vectors(encoder, data, chosen), senses
    plot_occurrences(occurrences, path)


def _vectors(encoder, data, chosen: np.ndarray) -> np.ndarray:
    """Returns `(sentences, layers, dim)`: the chosen sentences' word of many senses."""
    layers = keras_elmo.embed(encoder, [data.tokens[index] for index in chosen])
    return np.stack(
        [
            sentence[:, data.positions[index]]
            for sentence, index in zip(layers, chosen, strict=True)
        ]
    )
