"""The optimizers of pretraining, by name."""

from typing import Any

import keras
from keras import ops

from keras_elmo.training.clipped_optimizer import ClippedOptimizer
from keras_elmo.training.lazy_adam import LazyAdam
from keras_elmo.training.published_adagrad import PublishedAdagrad

_OPTIMIZERS: dict[str, type[ClippedOptimizer]] = {
    "adagrad": PublishedAdagrad,
    "adam": LazyAdam,
}
_LEARNING_RATES = {"adagrad": 0.2, "adam": 0.002}


def default_learning_rate(name: str) -> float:
    """Returns the learning rate of an optimizer that is given none.

    Raises:
        ValueError: there is no such optimizer.
    """
    if name not in _OPTIMIZERS:
        raise ValueError(
            f"`optimizer` must be one of {', '.join(_OPTIMIZERS)}. "
            f"Received: optimizer={name!r}"
        )
    return _LEARNING_RATES[name]


def build_optimizer(name: str, learning_rate: Any) -> ClippedOptimizer:
    """Returns the optimizer of a name, with a number or a schedule."""
    return _OPTIMIZERS[name](learning_rate=learning_rate)


def learning_rate_at(learning_rate: Any, step: int) -> float:
    """Returns a learning rate, or a schedule's, after some steps."""
    if isinstance(learning_rate, keras.optimizers.schedules.LearningRateSchedule):
        return float(ops.convert_to_numpy(learning_rate(step)))
    return float(learning_rate)
