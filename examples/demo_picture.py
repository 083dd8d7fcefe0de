"""The demo's picture: one word's vectors in each layer of a biLM, coloured by sense."""

from pathlib import Path

import numpy as np

import keras_elmo

# Fonts that know Hangul, as they are called on Linux, macOS and Windows.
HANGUL_FONTS = (
    "NanumGothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "UnDotum",
    "Apple SD Gothic Neo",
    "AppleGothic",
    "Malgun Gothic",
)
ROMANISED = {"배": "bae", "쓰다": "sseuda", "손": "son"}


def draw_senses(encoder, data, words: tuple[str, ...], path: Path) -> None:
    """Draws the vectors of `words`, a row for each word and a column for each layer.

    Args:
        encoder: the biLM.
        data: has `tokens`, `positions`, `words` and `senses`, one of each a sentence.
        words: which words.
        path: of the PNG file.
    """
    # Without a screen; nothing but this function needs matplotlib.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import font_manager, pyplot

    known = {font.name for font in font_manager.fontManager.ttflist}
    font = next((font for font in HANGUL_FONTS if font in known), None)
    if font:
        pyplot.rcParams["font.family"] = [font, "sans-serif"]

    num_layers = encoder.config.num_layers + 1
    figure, axes = pyplot.subplots(
        len(words),
        num_layers,
        figsize=(4 * num_layers, 3.6 * len(words)),
        squeeze=False,
        layout="constrained",
    )
    for row, word in zip(axes, words, strict=True):
        chosen = np.flatnonzero(data.words == word)
        vectors = _vectors(encoder, data, chosen)
        senses = [sense.removeprefix(f"{word} ") for sense in data.senses[chosen]]
        title = word if font else ROMANISED.get(word, word)
        for layer, panel in enumerate(row):
            _scatter(panel, vectors[:, layer], senses)
            note = "" if layer else " (the word alone)"
            panel.set_title(f"{title}, layer {layer}{note}")
        row[0].legend(loc="best", fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _vectors(encoder, data, chosen: np.ndarray) -> np.ndarray:
    """Returns `(sentences, layers, dim)`: the chosen sentences' word of many senses."""
    layers = keras_elmo.embed(encoder, [data.tokens[index] for index in chosen])
    return np.stack(
        [
            sentence[:, data.positions[index]]
            for sentence, index in zip(layers, chosen, strict=True)
        ]
    )


def _scatter(panel, vectors: np.ndarray, senses: list[str]) -> None:
    """Draws vectors in the plane in which they differ most."""
    centred = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    # A word has one vector in layer 0; without this, rounding errors look like a cloud.
    plane = np.round(plane, 4)
    for number, sense in enumerate(sorted(set(senses))):
        points = plane[np.array(senses) == sense]
        panel.scatter(*points.T, s=12, alpha=0.7, color=f"C{number}", label=sense)
    panel.set_xticks([])
    panel.set_yticks([])
