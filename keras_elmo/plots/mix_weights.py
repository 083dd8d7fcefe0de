"""What each task makes of a biLM's layers."""

import os
from collections.abc import Mapping, Sequence

import numpy as np

from keras_elmo.plots.picture import picture
from keras_elmo.plots.seeds import spread


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
