"""How much labelled text a task needs."""

import os
from collections.abc import Mapping, Sequence

from keras_elmo.plots.picture import picture
from keras_elmo.plots.seeds import spread


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
