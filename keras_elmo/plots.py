"""What all pictures have in common: a file that appears whole, and fonts."""

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from keras_elmo.utils.files import replacing
from keras_elmo.utils.lazy import import_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure
import textwrap
from collections.abc import Mapping, Sequence
from math import exp, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# Fonts that know Hangul, which matplotlib's own does not, as they are called on Linux,
# macOS and Windows.
__all__ = [
    "plot_history",
    "plot_layer_scores",
    "plot_mix_weights",
    "plot_occurrences",
    "plot_sample_efficiency",
]

_HANGUL_FONTS = (
    "NanumGothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "UnDotum",
    "Apple SD Gothic Neo",
    "AppleGothic",
    "Malgun Gothic",
)
# A package that is there for its font: importing it would change matplotlib's settings.
_FONT_PACKAGE = "koreanize_matplotlib"
_FONT_FILE = "fonts/NanumGothic.ttf"


@contextlib.contextmanager
def picture(
    path: str | os.PathLike[str], width: float, height: float
) -> Iterator["Figure"]:
    """Yields a figure, which becomes a .png when the block has drawn on it.

    A file that stands there is replaced. Nothing is shown on a screen, and matplotlib's
    settings stay what they are.

    Args:
        path: of the file.
        width: inches; there are 120 pixels in each.
        height: inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    figures = import_extra("matplotlib.figure", "Drawing a picture", "plots")
    import matplotlib

    # What the first font lacks is taken from the next.
    families = [*matplotlib.rcParams["font.family"], *_hangul_font()]
    with matplotlib.rc_context({"font.family": families}):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        yield figure
        with replacing(path) as temporary:
            figure.savefig(temporary, format="png", dpi=120)


def _hangul_font() -> list[str]:
    """The name of a font that knows Hangul, if there is one."""
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    found = [name for name in _HANGUL_FONTS if name in known]
    if not found and (package := find_spec(_FONT_PACKAGE)):
        for folder in package.submodule_search_locations or ():
            fontManager.addfont(Path(folder, _FONT_FILE))
            found.append(_HANGUL_FONTS[0])
    return found[:1]


class Spread(NamedTuple):
    """Of each of several points, what its seeds have.

    Attributes:
        means: `(points,)`.
        below: from the least to the mean, not negative.
        above: from the mean to the most, not negative.
    """

    means: np.ndarray
    below: np.ndarray
    above: np.ndarray


def spread(points: Sequence[ArrayLike], name: str) -> Spread:
    """Returns the means of points, and how far their seeds go from it.

    Args:
        points: the scores of each one's seeds.
        name: of the argument that they are of.

    Raises:
        ValueError: a point has no seed.
    """
    seeds = [np.asarray(each, dtype="float64") for each in points]
    if not all(each.size for each in seeds):
        raise ValueError(
            f"`{name}` must hold a score of at least one seed for each point. "
            f"Received: {[each.tolist() for each in seeds]}"
        )
    means = np.array([each.mean() for each in seeds])
    least = np.array([each.min() for each in seeds])
    most = np.array([each.max() for each in seeds])
    # The mean of three equal numbers may be a little beside them.
    return Spread(means, np.maximum(means - least, 0), np.maximum(most - means, 0))


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


# Letters of a title that fit above a panel.
_TITLE_WIDTH = 24


def plot_layer_scores(
    scores: Mapping[str, Sequence[Sequence[float]]],
    path: str | os.PathLike[str],
    baselines: Mapping[str, float] | None = None,
) -> None:
    """Draws how far each layer alone gets, a panel for each task.

    Args:
        scores: of each task's name and each layer, from 0, the scores of the seeds, in
            percent. A point is their mean, the line through it goes from the least to
            the most.
        path: the .png to write; one that stands there is replaced.
        baselines: of a task's name a score to draw a line at.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there is no task, or a layer without a score.

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
            axes.set(title=textwrap.fill(task, _TITLE_WIDTH), xlabel="layer")
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("score, %")


def plot_mix_weights(
    mixes: Mapping[str, Sequence[Sequence[float]]], path: str | os.PathLike[str]
) -> None:
    """Draws the weights of the layers, a group of bars for each task.

    Args:
        mixes: of each task's name `softmax(s)`, once a seed. A bar is the mean of the
            seeds, the line on it goes from the least to the most.
        path: the .png to write; one that stands there is replaced.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: the mixes are none, or of different numbers of layers.

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
            axes.bar(
                np.arange(len(mixes)) + (layer - (num_layers - 1) / 2) * bar,
                means,
                width=bar,
                yerr=errors,
                capsize=2,
                label=f"layer {layer}",
            )
        axes.axhline(1 / num_layers, color="0.4", linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(mixes)), list(mixes))
        axes.set(ylabel="weight of the layer", ylim=(0, None))
        # Above the bars, which fill the panel from side to side.
        axes.legend(
            frameon=False,
            ncols=num_layers,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
        )


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


def plot_sample_efficiency(
    curves: Mapping[str, Mapping[int, Sequence[float]]],
    path: str | os.PathLike[str],
    title: str = "",
) -> None:
    """Draws the score against the number of training sentences, a line for each model.

    Args:
        curves: of each model's name and each number of sentences the scores of the
            seeds, in percent. The line is their mean, the band about it goes from the
            least to the most.
        path: the .png to write; one that stands there is replaced.
        title: of the picture.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there is no model, or a number of sentences without a score.

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
            axes.fill_between(
                sizes, means - below, means + above, alpha=0.2, color=line.get_color()
            )
        axes.set(xlabel="training sentences", ylabel="score, %", title=title)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
