"""The training loop."""

import dataclasses
import math
import signal
from collections.abc import Callable
from contextlib import nullcontext
from time import monotonic
from typing import NoReturn

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.training.data import Batch, Batches, EpochIterator
from keras_elmo.training.devices.base import Devices, WorkerStatus
from keras_elmo.training.options import TrainingOptions
from keras_elmo.training.recorder import RunRecorder
from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal
from keras_elmo.utils.checks import called
from keras_elmo.utils.progress import Progress

_DECAY = 0.98


class SmoothedMean:
    """Exponential moving average, bias-corrected (Kingma & Ba 2015, section 3)."""

    def __init__(self) -> None:
        self._sum = self._weight = 0.0

    def update(self, value: float) -> float:
        """Adds a value and returns the mean."""
        self._sum = _DECAY * self._sum + (1 - _DECAY) * value
        self._weight = _DECAY * self._weight + (1 - _DECAY)
        return self._sum / self._weight


# Reasons to stop, beside the numbers of signals, which are greater than 1.
_CONTINUE, _END = 0, 1


@dataclasses.dataclass
class TrainingLoop:
    """Trains a model from the state of its recorder until an option stops the run."""

    model: PretrainingModel
    corpus: Batches
    recorder: RunRecorder
    options: TrainingOptions
    devices: Devices
    log: Callable[[str], None]

    def __post_init__(self) -> None:
        self._state = self.recorder.state
        self._loss = SmoothedMean()
        epoch, batch = self._state.positions[self.devices.worker]
        epochs = self.options.epochs
        self._batches = EpochIterator(self.corpus, epochs, epoch, batch)

    def train(
        self, words_per_epoch: int | None, progress: bool, guard: SignalGuard
    ) -> None:
        """Runs the loop; `words_per_epoch`, if known, tells the time left."""
        self._guard = guard
        self._first_step = self._state.step
        self._deadline = math.inf
        if self.options.minutes is not None:
            self._deadline = monotonic() + 60 * self.options.minutes
        self._words_per_epoch = words_per_epoch
        start, total = self._position()
        self._bar = Progress("Pretraining", total, start=start, visible=progress)
        with self._bar:
            if self._measurement_is_due():
                self._measure()
            self._run_steps()
            if self._state.step > self.recorder.last_measured():
                self._measure()

    def _run_steps(self) -> None:
        batches = iter(self._batches)
        while self.options.steps is None or self._state.step < self.options.steps:
            since = monotonic()
            batch = next(batches, None)
            position = (self._batches.epoch, self._batches.batch)
            statuses = self.devices.all_gather(
                WorkerStatus.of(batch, position, self._reason_to_stop())
            )
            stop = max(status.stop for status in statuses)
            if stop > _END:
                self._exit(signal.Signals(stop))
            if stop == _END or not any(status.has_batch for status in statuses):
                break
            self._update(batch, statuses)
            self._state.interval.seconds += monotonic() - since
            if self._measurement_is_due():
                self._measure()
            elif self._checkpoint_is_due():
                self.recorder.save_checkpoint()

    def _update(self, batch: Batch | None, statuses: list[WorkerStatus]) -> None:
        state = self._state
        metrics = self.devices.update(self.model, batch, statuses)
        self.recorder.check_loss(metrics["loss"])
        words = sum(status.words for status in statuses)
        rows = sum(status.rows for status in statuses)
        state.step += 1
        state.words += words
        state.positions = [(status.epoch, status.batch) for status in statuses]
        # In each row, a direction predicts the words and one of the boundaries.
        state.interval.add(metrics, words, predictions=words + rows)
        loss = self._loss.update(metrics["loss"])
        self._bar.update(
            words,
            position=self._position()[0],
            loss=loss,
            perplexity=math.exp(min(loss, 700.0)),
        )

    def _reason_to_stop(self) -> int:
        """Returns what the other workers are told."""
        if self._guard.requested is not None:
            return int(self._guard.requested)
        if not self.devices.is_chief:
            return _CONTINUE
        patience = self.options.patience
        if patience is not None and self._state.measurements_since_best() >= patience:
            return _END
        # At least one step, however long the start took.
        late = monotonic() >= self._deadline and self._state.step > self._first_step
        return _END if late else _CONTINUE

    def _exit(self, number: signal.Signals) -> NoReturn:
        self.recorder.save_checkpoint()
        path = self.recorder.checkpoints.path(self._state.step)
        exit_for_signal(
            number,
            f"stopped after step {self._state.step:,}; {path} is written; pass "
            f"{called('resume')} to go on",
            self.log,
        )

    def _measurement_is_due(self) -> bool:
        """True, too, when the run was stopped during this measurement."""
        step = self._state.step
        due = step % self.options.validate_every == 0
        return due and step > self.recorder.last_measured()

    def _measure(self) -> None:
        # Other workers would wait for one that has left.
        alone = self.devices.num_workers == 1
        try:
            mean = self.recorder.measure(
                self._guard.interruptible() if alone else nullcontext()
            )
        except Interrupted as interrupted:
            # The run measures first when it is resumed.
            self._exit(interrupted.number)
        if mean is not None:
            self._bar.update(0, position=self._position()[0], validation=mean)

    def _checkpoint_is_due(self) -> bool:
        every = self.options.checkpoint_every
        if every is not None and self._state.step % every == 0:
            return True
        elapsed = monotonic() - self.recorder.last_checkpoint_at
        return elapsed > 60 * self.options.checkpoint_minutes

    def _position(self) -> tuple[float, float | None]:
        """Returns how far the run is, and its end, in steps, seconds or words."""
        options, words = self.options, self._words_per_epoch
        if options.steps is not None:
            return self._state.step, options.steps
        if options.minutes is not None:
            seconds = 60 * options.minutes
            return seconds - (self._deadline - monotonic()), seconds
        end = words * options.epochs if words and options.epochs else None
        return self._state.words, end
