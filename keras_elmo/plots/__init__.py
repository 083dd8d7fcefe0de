"""Draws runs, mixes and vectors as PNG files; needs the extra `plots`."""

from keras_elmo.plots.history import plot_history
from keras_elmo.plots.mix_weights import plot_mix_weights
from keras_elmo.plots.occurrences import plot_occurrences

__all__ = ["plot_history", "plot_mix_weights", "plot_occurrences"]
