"""Pictures, with matplotlib (extra `plots`)."""

from keras_elmo.plots.history import plot_history
from keras_elmo.plots.layer_scores import plot_layer_scores
from keras_elmo.plots.mix_weights import plot_mix_weights
from keras_elmo.plots.occurrences import plot_occurrences
from keras_elmo.plots.sample_efficiency import plot_sample_efficiency

__all__ = [
    "plot_history",
    "plot_layer_scores",
    "plot_mix_weights",
    "plot_occurrences",
    "plot_sample_efficiency",
]
