"""Draws scores and mixes by task."""

import os
import textwrap
from collections.abc import Mapping, Sequence
from types import NoneType

import numpy as np

from keras_elmo.plots.data import last_mixes, read_csv, spread
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.picture import picture
from keras_elmo.utils.types import StrPath


def plot_layer_scores(
    scores: Mapping[str, Sequence[Sequence[float]]],
    path: StrPath,
    baselines: Mapping[str, float] | None = None,
) -> None:
    """Draws how many points each layer gains over layer 0, a group of bars a task.

    A bar is the mean of the seeds, with its score beside it, the best one in black; the
    line on it is their range.

    Args:
        scores: for each task, for each layer from 0, the scores of the seeds in
            percent.
        path: the .png file to write or to replace.
        baselines: for a task, the score to draw a line at.

    Raises:
        ValueError: there is no task, a task has no layer, or a layer no score.

    Example:

    ```python
    from keras_elmo.plots import plot_layer_scores

    scores = {"tagging": [[90.1, 90.4], [95.2, 95.0], [93.3, 93.9]]}
    plot_layer_scores(scores, "layers.png", baselines={"tagging": 92.0})
    ```

    Reference: Peters et al. 2018, tables 5 and 6.
    """
    check_type(Mapping, "a dictionary", scores=scores)
    check_type((Mapping, NoneType), "a dictionary or None", baselines=baselines)
    if not scores or not all(map(len, scores.values())):
        raise ValueError(
            "`scores` must hold a task, and each task a layer. "
            f"Received: scores={dict(scores)}"
        )
    num_bars = max(map(len, scores.values())) - 1
    bar = 0.8 / max(num_bars, 1)
    with picture(path, 7.5, 0.75 * len(scores) + 1) as figure:
        axes = figure.subplots()
        names = []
        for place, (task, layers) in enumerate(scores.items()):
            means, *errors = spread(layers, "scores")
            names.append(f"{textwrap.fill(task, width=40)}\nlayer 0: {means[0]:.1f} %")
            for layer in range(1, len(means)):
                y = place + (layer - 1 - (num_bars - 1) / 2) * bar
                error = [[side[layer]] for side in errors]
                gain = means[layer] - means[0]
                color = f"C{layer}"
                axes.barh(y, gain, bar, xerr=error, color=color, label=f"layer {layer}")
                end = gain + error[1][0], y
                best = "black" if layer == np.argmax(means) else "0.5"
                axes.annotate(
                    f"{means[layer]:.1f}",
                    end,
                    color=best,
                    xytext=(4, 0),
                    textcoords="offset points",
                    verticalalignment="center",
                )
            if baselines and task in baselines:
                x = baselines[task] - means[0]
                axes.plot([x, x], [place - 0.45, place + 0.45], "k:", label="baseline")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set(xlabel="points more than layer 0, the word without its context")
        axes.grid(alpha=0.3, axis="x")
        labelled = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        axes.legend(
            labelled.values(), labelled, frameon=False, ncols=len(labelled), **above
        )


def plot_mix_weights(
    mixes: StrPath | Mapping[str, Sequence[Sequence[float]]], path: StrPath
) -> None:
    """Draws the weights of the layers in the mix, a group of bars for each task.

    A bar is the mean of the seeds; the line on it is their range.

    Args:
        mixes: for each task, `softmax(s)` of each seed; or a file of
            `MixWeightsLogger`, of which the last epoch is drawn.
        path: the .png file to write or to replace.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: there is no mix, they are of different numbers of layers, or the
            file is of something else.

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
            means, *errors = spread([each[:, layer] for each in weights], "mixes")
            x = np.arange(len(mixes)) + (layer - (num_layers - 1) / 2) * bar
            label = f"layer {layer}"
            axes.bar(x, means, width=bar, yerr=errors, capsize=2, label=label)
        axes.axhline(1 / num_layers, color="0.4", linewidth=0.8, linestyle=":")
        names = [textwrap.fill(name, width=14) for name in mixes]
        axes.set_xticks(range(len(names)), names)
        axes.set(ylabel="weight of the layer", ylim=(0, None))
        # Above the bars, which fill the panel from side to side.
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        axes.legend(frameon=False, ncols=num_layers, **above)


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
    check_type(Mapping, "a dictionary", curves=curves)
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
