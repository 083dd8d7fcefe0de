"""Draws the weights of the layers in a mix."""

import os
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from keras_elmo.plots.data import last_mixes, read_csv
from keras_elmo.plots.picture import picture
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.types import StrPath


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
