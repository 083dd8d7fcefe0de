"""The training loop."""

import dataclasses
import math
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from itertools import chain
from time import monotonic
from typing import NoReturn, TypeAlias

from keras import ops

from keras_elmo.text.corpus import Corpus
from keras_elmo.training.devices.base import Devices, WorkerStatus
from keras_elmo.training.learning_rates import (
    FallingRate,
    LearningRate,
    learning_rate_at,
)
from keras_elmo.training.pending_steps import PendingSteps, Step
from keras_elmo.training.recorder import RunRecorder
from keras_elmo.training.run_callbacks import RunCallbacks
from keras_elmo.training.run_clock import MILLIONTHS, RunClock
from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal
from keras_elmo.training.training_data import Batch, TrainingData, batches_from
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import called
from keras_elmo.utils.prefetch import prefetch_map
from keras_elmo.utils.progress import Progress

# A batch on the devices, and what the other workers are told about it.
Placed: TypeAlias = tuple[Batch, WorkerStatus]

# Reasons to stop, beside the numbers of signals, which are greater than 1.
_CONTINUE, _END = 0, 1


@dataclasses.dataclass
class TrainingLoop:
    """Trains a model from the state of its recorder until an option stops the run.

    The learning rate is `None` where a Keras optimizer has its own.
    """

    data: TrainingData
    recorder: RunRecorder
    options: TrainingOptions
    devices: Devices
    learning_rate: LearningRate | None
    clock: RunClock
    callbacks: RunCallbacks
    log: Callable[[str], None]

    def __post_init__(self) -> None:
        self._model, self._state = self.recorder.model, self.recorder.state
        self._pending = PendingSteps()
        self._progress = 0.0

    def train(self, guard: SignalGuard) -> None:
        """Runs the loop."""
        self._guard = guard
        start, total = self.clock.position()
        visible = self.options.progress
        self._bar = Progress("Pretraining", total, start=start, visible=visible)
        ahead, data = self.devices.batches_ahead, self.data
        batches = batches_from(
            data.corpus, self._position(), self.options.epochs, data.shapes
        )
        placed = prefetch_map(self._place, batches, ahead)
        with closing(placed), closing(self.devices):
            compiled = self._compile_first(placed) if ahead else placed
            with self._bar:
                self.callbacks.begin()
                if self.clock.measurement_is_due():
                    self._measure()
                self._run_steps(compiled)
                self.clock.end()
                if not self._state.is_measured():
                    self._measure()
                self.callbacks.end()

    def _position(self) -> tuple[int, int]:
        """Returns the epoch of this worker, and the batches of it that were read."""
        return self._state.positions[self.devices.worker]

    def _place(self, read: tuple[Batch, tuple[int, int]]) -> Placed:
        batch, position = read
        status = WorkerStatus.of(batch, position)
        return self.devices.place(batch), status

    def _compile_first(self, batches: Iterator[Placed]) -> Iterator[Placed]:
        """Compiles an update of the first batch before the progress bar starts."""
        first = next(batches, None) if self._goes_on() else None
        if first is None:
            return batches
        since, data, others = monotonic(), self.data, []
        if (
            self.devices.compiles_ahead
            and data.shapes
            and isinstance(data.corpus, Corpus)
        ):
            # One of each shape that the text has.
            sizes = data.corpus.batch_tokens, self._model.config.ids_per_token
            others = [*map(self.devices.place, data.shapes.masked_batches(*sizes))]
        message = "A step is compiled for each length of rows when it first comes"
        if self.devices.compile(self._model, [first[0], *others]):
            message = (
                f"Compiled a step for rows of {first[1].tokens} positions in "
                f"{monotonic() - since:.0f} s; other lengths follow "
                + ("meanwhile" if others else "when they first come")
            )
        self.log(message)
        return chain([first], batches)

    def _goes_on(self) -> bool:
        steps = self.options.steps
        return steps is None or self._state.step < steps

    def _run_steps(self, batches: Iterator[Placed]) -> None:
        while self._goes_on():
            since = monotonic()
            no_batch = None, WorkerStatus(*self._position())
            batch, status = next(batches, no_batch)
            status = dataclasses.replace(
                status, stop=self._reason_to_stop(), progress=self.clock.progress()
            )
            statuses = self.devices.all_gather(status)
            stop = max(status.stop for status in statuses)
            if stop > _END:
                self._exit(signal.Signals(stop))
            if stop == _END or not any(status.has_batch for status in statuses):
                break
            self._update(batch, statuses)
            self._state.interval.seconds += monotonic() - since
            if self.clock.measurement_is_due():
                self._measure()
            elif self._checkpoint_is_due():
                self._finish_steps()
                self.recorder.save_checkpoint()

    def _update(self, batch: Batch | None, statuses: list[WorkerStatus]) -> None:
        state, callbacks = self._state, self.callbacks
        epoch = statuses[0].epoch
        if epoch != state.positions[0][0]:
            # Callbacks may read the variables.
            self._read_steps()
        self._progress = statuses[0].progress / MILLIONTHS
        if isinstance(self.learning_rate, FallingRate):
            rate = self.learning_rate.at(state.step, self._progress)
            self.devices.set_learning_rate(self._model, rate)
        callbacks.begin_step(epoch)
        metrics = self.devices.update(self._model, batch, statuses)
        words = sum(status.words for status in statuses)
        predictions = sum(status.predictions for status in statuses)
        state.step += 1
        state.words += words
        state.positions = [(status.epoch, status.batch) for status in statuses]
        self._bar.update(words, position=self.clock.position()[0])
        self._record(self._pending.begin(Step(state.step, words, predictions, metrics)))
        if callbacks.read_batches:
            self._read_steps()

    def _record(self, steps: list[Step]) -> None:
        for step in steps:
            loss = self.recorder.add(step)
            self._bar.update(0, loss=loss, perplexity=math.exp(min(loss, 700.0)))
            self.callbacks.end_step(step)

    def _finish_steps(self) -> None:
        """Waits for the device, before the state or the variables are read."""
        since = monotonic()
        self._read_steps()
        self._state.interval.seconds += monotonic() - since

    def _read_steps(self) -> None:
        steps = self._pending.finish()
        self.devices.write_variables(self._model)
        self._record(steps)

    def _reason_to_stop(self) -> int:
        """Returns what the other workers are told."""
        if self._guard.requested is not None:
            return int(self._guard.requested)
        if self._model.stop_training:
            return _END
        if not self.devices.is_chief:
            return _CONTINUE
        patience = self.options.patience
        if patience is not None and self._state.measurements_since_best() >= patience:
            return _END
        return _END if self.clock.is_over() else _CONTINUE

    def _exit(self, number: signal.Signals) -> NoReturn:
        self._finish_steps()
        self.recorder.save_checkpoint()
        path = self.recorder.checkpoints.path(self._state.step)
        exit_for_signal(
            number,
            f"stopped after step {self._state.step:,}; {path} is written; pass "
            f"{called('resume')} to go on",
            self.log,
        )

    def _measure(self) -> None:
        self._finish_steps()
        since = monotonic()
        # Other workers would wait for one that has left.
        alone = self.devices.num_workers == 1
        if self.recorder.validation is not None:
            self.callbacks.begin_measurement()
        try:
            measured = self.recorder.measure(
                self._guard.interruptible() if alone else nullcontext(),
                self._current_rate(),
            )
        except Interrupted as interrupted:
            # The run measures first when it is resumed.
            self._exit(interrupted.number)
        self.clock.measured(monotonic() - since)
        if measured:
            self.callbacks.end_measurement(measured)
            mean = measured["perplexity_mean"]
            self._bar.update(0, position=self.clock.position()[0], validation=mean)

    def _current_rate(self) -> float:
        if self.learning_rate is None:
            return float(ops.convert_to_numpy(self._model.optimizer.learning_rate))
        return learning_rate_at(self.learning_rate, self._state.step, self._progress)

    def _checkpoint_is_due(self) -> bool:
        every = self.options.checkpoint_every
        if every is not None and self._state.step % every == 0:
            return True
        elapsed = monotonic() - self.recorder.last_checkpoint_at
        return elapsed > 60 * self.options.checkpoint_minutes
