"""What each layer of a biLM knows."""

import os
import textwrap
from collections.abc import Mapping, Sequence

from keras_elmo.plots.picture import picture
from keras_elmo.plots.seeds import spread

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
