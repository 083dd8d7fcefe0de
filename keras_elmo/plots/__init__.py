"""Draws runs, layers and vectors as PNG files; needs the extra `plots`."""

from keras_elmo.plots.history import plot_history
from keras_elmo.plots.occurrences import plot_occurrences
from keras_elmo.plots.tasks import (
    plot_layer_scores,
    plot_mix_weights,
    plot_sample_efficiency,
)

__all__ = [
    "plot_history",
    "plot_layer_scores",
    "plot_mix_weights",
    "plot_occurrences",
    "plot_sample_efficiency",
]
