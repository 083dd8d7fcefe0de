"""Draws runs, layers and vectors as PNG files; needs the extra `plots`."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from keras_elmo.utils.picture import picture
from keras_elmo.utils.types import StrPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_history",
    "plot_layer_scores",
    "plot_mix_weights",
    "plot_occurrences",
    "plot_sample_efficiency",
]


def spread(points: Sequence[ArrayLike], name: str) -> np.ndarray:
    """Returns the means of the points' seeds, and how far they go below and above."""
    arrays = [np.asarray(seeds, dtype="float64") for seeds in points]
    if not all(seeds.size for seeds in arrays):
        raise ValueError(
            f"`{name}` must hold a score of at least one seed for each point. "
            f"Received: {[seeds.tolist() for seeds in arrays]}"
        )
    means = np.array([seeds.mean() for seeds in arrays])
    below = means - [seeds.min() for seeds in arrays]
    above = [seeds.max() for seeds in arrays] - means
    # The mean of equal numbers may differ from them by a rounding error.
    return np.array([means, np.maximum(below, 0), np.maximum(above, 0)])


def plot_history(rows: Sequence[Any], path: StrPath) -> bool:
    """Draws the learning curves of a run.

    Args:
        rows: of the run's history.csv, as `training.history.read_history` returns them.
        path: the .png file to write or to replace.

    Returns:
        Whether the picture was drawn: it needs two rows, and matplotlib.

    Example:

    ```python
    from keras_elmo.plots import plot_history
    from keras_elmo.training.history import HistoryRow

    rows = [
        HistoryRow(k, 0, 1000 * k, 9.0 * k, 2e3, 0.2, 1.5, 7 / k, 7 / k) for k in (1, 2)
    ]
    plot_history(rows, "history.png")
    ```
    """
    if len(rows) < 2:
        return False
    try:
        with picture(path, 7, 4.5) as figure:
            axes = figure.subplots()
            words = [row.words / 1e6 for row in rows]
            for direction, color in (("forward", "C0"), ("backward", "C1")):
                validated = [getattr(row, f"perplexity_{direction}") for row in rows]
                label = f"{direction}, validation"
                if any(value is not None for value in validated):
                    axes.plot(words, _shown(validated), color=color, label=label)
                losses = [getattr(row, f"loss_{direction}") for row in rows]
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


def plot_layer_scores(
    scores: Mapping[str, Sequence[Sequence[float]]],
    path: StrPath,
    baselines: Mapping[str, float] | None = None,
) -> None:
    """Draws the score of each layer alone, a panel for each task.

    A point is the mean of the seeds; the line on it is their range.

    Args:
        scores: for each task, for each layer from 0, the scores of the seeds in
            percent.
        path: the .png file to write or to replace.
        baselines: for a task, the score to draw a line at.

    Raises:
        ValueError: there is no task, or a layer has no score.

    Example:

    ```python
    from keras_elmo.plots import plot_layer_scores

    scores = {"tagging": [[90.1, 90.4], [95.2, 95.0], [93.3, 93.9]]}
    plot_layer_scores(scores, "layers.png", baselines={"tagging": 92.0})
    ```

    Reference: Peters et al. 2018, tables 5 and 6.
    """
    if not scores:
        raise ValueError("`scores` must hold a task. Received: scores={}")
    with picture(path, 2.6 * len(scores) + 0.4, 3.2) as figure:
        panels = figure.subplots(1, len(scores), squeeze=False)[0]
        for axes, (task, layers) in zip(panels, scores.items(), strict=True):
            means, *errors = spread(layers, "scores")
            axes.errorbar(range(len(means)), means, yerr=errors, marker="o", capsize=3)
            if baselines and task in baselines:
                axes.axhline(baselines[task], color="0.4", linestyle=":")
            axes.set_xticks(range(len(means)))
            axes.set(title=textwrap.fill(task, width=24), xlabel="layer")
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("score, %")


def plot_mix_weights(
    mixes: Mapping[str, Sequence[Sequence[float]]], path: StrPath
) -> None:
    """Draws the weights of the layers in the mix, a group of bars for each task.

    A bar is the mean of the seeds; the line on it is their range.

    Args:
        mixes: for each task, `softmax(s)` of each seed.
        path: the .png file to write or to replace.

    Raises:
        ValueError: there is no mix, or they are of different numbers of layers.

    Example:

    ```python
    from keras_elmo.plots import plot_mix_weights

    plot_mix_weights({"tagging": [[0.2, 0.5, 0.3], [0.1, 0.6, 0.3]]}, "mix.png")
    ```

    Reference: Peters et al. 2018, figure 2.
    """
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
            means, *errors = spread([each[:, layer] for each in weights], "mixes")
            x = np.arange(len(mixes)) + (layer - (num_layers - 1) / 2) * bar
            label = f"layer {layer}"
            axes.bar(x, means, width=bar, yerr=errors, capsize=2, label=label)
        axes.axhline(1 / num_layers, color="0.4", linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(mixes)), list(mixes))
        axes.set(ylabel="weight of the layer", ylim=(0, None))
        # Above the bars, which fill the panel from side to side.
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        axes.legend(frameon=False, ncols=num_layers, **above)


def plot_occurrences(
    words: Mapping[str, tuple[np.ndarray, Sequence[str]]], path: StrPath
) -> None:
    """Draws the vectors of words in context, coloured by sense.

    Each word has a row and each layer a column. A panel shows the plane of the two
    first principal components.

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
    with picture(path, 3.6 * num_layers, 3.3 * len(words)) as figure:
        rows = figure.subplots(len(words), num_layers, squeeze=False)
        for row, (word, (vectors, senses)) in zip(rows, words.items(), strict=True):
            for layer, axes in enumerate(row):
                _scatter(axes, vectors[:, layer], senses)
                note = "" if layer else " (the word alone)"
                axes.set_title(f"{word}, layer {layer}{note}")
            row[-1].legend(loc="best", fontsize="small")


def _scatter(axes: "Axes", vectors: np.ndarray, senses: Sequence[str]) -> None:
    # NumPy decomposes no matrices of half precision, which files of vectors may hold.
    vectors = vectors.astype("float64")
    centred = vectors - vectors.mean(0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    # A word has one vector in layer 0: without this, rounding errors look like a cloud.
    points = np.round(centred @ components[:2].T, 4)
    for number, sense in enumerate(dict.fromkeys(senses)):
        x, y = points[[each == sense for each in senses]].T
        axes.scatter(x, y, s=14, alpha=0.7, color=f"C{number}", label=sense)
    axes.set_xticks([])
    axes.set_yticks([])


def plot_sample_efficiency(
    curves: Mapping[str, Mapping[int, Sequence[float]]],
    path: StrPath,
    title: str = "",
) -> None:
    """Draws the score against the number of training sentences, a line for each model.

    The line is the mean of the seeds, the band about it is their range.

    Args:
        curves: for each model, for each number of sentences, the scores of the seeds in
            percent.
        path: the .png file to write or to replace.
        title: of the picture.

    Raises:
        ValueError: there is no model, or a number of sentences without a score.

    Example:

    ```python
    from keras_elmo.plots import plot_sample_efficiency

    curves = {"ELMo": {100: [70, 72], 1000: [80, 82]}, "GloVe": {100: [50], 1000: [75]}}
    plot_sample_efficiency(curves, "efficiency.png", title="SST-5")
    ```

    Reference: Peters et al. 2018, figure 1.
    """
    if not curves:
        raise ValueError("`curves` must hold a model. Received: curves={}")
    with picture(path, 5.5, 3.8) as figure:
        axes = figure.subplots()
        for name, curve in curves.items():
            sizes = sorted(curve)
            means, below, above = spread([curve[size] for size in sizes], "curves")
            (line,) = axes.plot(sizes, means, marker="o", label=name)
            color = line.get_color()
            axes.fill_between(
                sizes, means - below, means + above, color=color, alpha=0.2
            )
        axes.set(xlabel="training sentences", ylabel="score, %", title=title)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
