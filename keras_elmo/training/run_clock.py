"""How far a run is on its way to its end."""

import math
from time import monotonic

from keras_elmo.training.recorder import RunState
from keras_elmo.training.training_options import VALIDATE_EVERY, TrainingOptions

# Shares of the minutes: before the first measurement, which tells how long the last one
# takes, and between two measurements.
_FIRST_MEASUREMENT = 0.05
_MEASUREMENTS = 0.1
# Training between two measurements takes at least this many times as long as one.
_TRAINED_BETWEEN = 3.0
# The last measurement may take this much longer than the one before.
_MARGIN = 1.2
# Largest share of the minutes to set aside for it.
_MOST_SET_ASIDE = 0.5
MILLIONTHS = 1_000_000


class RunClock:
    """Tells the time of a run, in the unit of what ends it.

    Minutes are over when only the time for the last measurement is left. Where the
    learning rate falls until the end, minutes of earlier processes count, too. `began`
    is when this process began, by `monotonic`.
    """

    def __init__(
        self,
        options: TrainingOptions,
        state: RunState,
        words_per_epoch: int | None,
        began: float,
        is_falling: bool,
    ) -> None:
        self._options, self._state = options, state
        self._words, self._epochs = words_per_epoch, options.epochs
        self._began = began - state.seconds * is_falling
        self._first_step = 0 if is_falling else state.step
        minutes = math.inf if options.minutes is None else options.minutes
        self._seconds = 60 * minutes
        if is_falling and state.minutes >= minutes:
            # They were over before, measured and saved.
            self._began = -math.inf
        self._set_aside = 0.0
        self._next_measurement = self._elapsed() + _FIRST_MEASUREMENT * self._seconds

    def _elapsed(self) -> float:
        return monotonic() - self._began

    def _usable(self) -> float:
        return self._seconds - min(self._set_aside, _MOST_SET_ASIDE * self._seconds)

    def is_over(self) -> bool:
        """Whether the minutes are over, and there was a step in them."""
        return self._elapsed() >= self._usable() and self._state.step > self._first_step

    def end(self) -> None:
        """Notes in the state that the minutes are over."""
        if self._options.minutes is not None and self.is_over():
            self._state.minutes = self._options.minutes

    def progress(self) -> int:
        """Returns how far the run is to its minutes or epochs, in millionths."""
        shares = [self._elapsed() / self._usable()]
        if self._epochs is not None:
            epochs = float(self._state.positions[0][0])
            if self._words:
                epochs = self._state.words / self._words
            shares.append(epochs / self._epochs)
        return round(MILLIONTHS * min(1.0, max(shares)))

    def position(self) -> tuple[float, float | None]:
        """Returns how far the run is, and its end, in steps, seconds or words."""
        options = self._options
        if options.steps is not None:
            return self._state.step, options.steps
        if options.minutes is not None:
            return min(self._elapsed(), self._seconds), self._seconds
        end = self._words * self._epochs if self._words and self._epochs else None
        return self._state.words, end

    def measurement_is_due(self) -> bool:
        """True, too, when the run was stopped during this measurement."""
        if self._state.is_measured():
            return False
        if self._state.step % (self._options.validate_every or VALIDATE_EVERY) == 0:
            return True
        # Not shortly before the last one.
        late = self._elapsed() + self._set_aside >= self._usable()
        return self._elapsed() >= self._next_measurement and not late

    def measured(self, seconds: float) -> None:
        """Sets aside the time of the last measurement: what this one took."""
        self._set_aside = _MARGIN * seconds
        between = max(_MEASUREMENTS * self._seconds, _TRAINED_BETWEEN * seconds)
        if self._options.validate_every is not None:
            between = math.inf
        self._next_measurement = self._elapsed() + between
