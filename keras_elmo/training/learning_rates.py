"""Learning rates: a number, a Keras schedule, or one that falls to the end of a run."""

import dataclasses
import math
from typing import TypeAlias

import keras
from keras import ops
from keras.optimizers.schedules import CosineDecay, LearningRateSchedule

from keras_elmo.training.keras_configs import from_config
from keras_elmo.training.training_options import LEARNING_RATES, TrainingOptions
from keras_elmo.utils.checks import called

# The key of a learning rate that falls, in a manifest.
FALLS_FROM = "falls_from"
_RISING_STEPS = 50
_SLOW_AFTER = 1000
# Where the rate of Adam and Muon begins to fall, in LSTMs of this many units; divide by
# the cube root of their number. Less where a trained model goes on.
_ADAM_FALLS_FROM, _UNITS = 0.01, 64
_MOST_AFTER_INIT = 0.001


@dataclasses.dataclass(frozen=True)
class FallingRate:
    """Rises over the first updates, then falls, and to 0 where a run ends.

        rate = peak * min(1, (step + 1) / 50) / sqrt(1 + step / 1000) * (1 - progress)

    A Keras schedule cannot know that end: it may be a time, or passes over a text.
    Where a number of updates ends a run, the progress is 0: it may have more later.
    """

    peak: float

    def at(self, step: int, progress: float) -> float:
        """Returns the rate after some updates, at 0 to 1 of the way to the end."""
        rising = min(1.0, (step + 1) / _RISING_STEPS)
        falling = math.sqrt(_SLOW_AFTER / (_SLOW_AFTER + step))
        return self.peak * rising * falling * (1.0 - progress)


LearningRate: TypeAlias = float | LearningRateSchedule | FallingRate


def build_learning_rate(
    options: TrainingOptions,
    units: int = _UNITS,
    recorded: object = None,
    where: str = "",
) -> LearningRate:
    """Returns the learning rate of a run whose LSTMs have `units` cells.

    `recorded` is what `learning_rate_config` returned when a run to resume began, from
    the file `where`; it is the rate unless the options say another one.
    """
    rate, schedule, steps = options.learning_rate, options.schedule, options.steps
    if recorded is not None and rate is None and schedule is None:
        if not isinstance(recorded, dict):
            return float(str(recorded))
        if FALLS_FROM in recorded:
            return FallingRate(float(recorded[FALLS_FROM]))
        return from_config(recorded, where)
    if schedule is None:
        # A given rate is constant, and so is the published one.
        is_plain = rate is not None or options.optimizer == "adagrad"
        schedule = "constant" if is_plain else "falling"
    if schedule == "falling":
        if rate is None:
            rate = _falls_from(options, units)
        return FallingRate(float(rate))
    if rate is None:
        rate = LEARNING_RATES[str(options.optimizer)]
    if schedule == "constant" or steps is None:
        return rate
    warmup = options.warmup_steps
    if not warmup:
        return CosineDecay(rate, steps)
    return CosineDecay(0.0, steps - warmup, warmup_target=rate, warmup_steps=warmup)


def _falls_from(options: TrainingOptions, units: int) -> float:
    if options.optimizer == "adagrad":
        return LEARNING_RATES["adagrad"]
    rate = float(f"{_ADAM_FALLS_FROM * (_UNITS / units) ** (1 / 3):.2g}")
    return rate if options.init is None else min(rate, _MOST_AFTER_INIT)


def learning_rate_config(rate: object) -> object:
    """Returns a number, or the config of a schedule, for the manifest."""
    if isinstance(rate, FallingRate):
        return {FALLS_FROM: rate.peak}
    if isinstance(rate, LearningRateSchedule):
        return keras.optimizers.schedules.serialize(rate)
    try:
        return float(rate)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{called('learning_rate')} must be a number or a Keras "
            f"LearningRateSchedule. Received: learning_rate={rate!r}"
        ) from error


def learning_rate_at(rate: LearningRate, step: int, progress: float = 0.0) -> float:
    """Returns the learning rate after some steps."""
    if isinstance(rate, FallingRate):
        return rate.at(step, progress)
    if isinstance(rate, LearningRateSchedule):
        return float(ops.convert_to_numpy(rate(step)))
    return float(rate)
