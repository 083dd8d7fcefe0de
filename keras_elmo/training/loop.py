"""When a run ends, and what it does on the way."""

import math
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import ExitStack, nullcontext
from time import monotonic
from typing import NoReturn

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.corpus import Corpus
from keras_elmo.training.data import Batch, Batches
from keras_elmo.training.devices.base import Devices, WorkerStatus
from keras_elmo.training.options import TrainingOptions
from keras_elmo.training.recorder import RunRecorder
from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal
from keras_elmo.utils.progress import Progress

# Reasons to stop, beside the numbers of signals, which are greater than 1.
_GO_ON, _END = 0, 1


class TrainingLoop:
    """Trains a model from where its record says it is.

    Args:
        model: compiled, its optimizer built.
        corpus: text or batches to train on.
        record: what the run leaves.
        options: when the run ends, and how often it is measured and kept.
        devices: where it is computed.
        log: told what a person should know.
    """

    def __init__(
        self,
        model: PretrainingModel,
        corpus: Corpus | Iterable[Batch],
        record: RunRecorder,
        options: TrainingOptions,
        devices: Devices,
        log: Callable[[str], None],
    ) -> None:
        self._model = model
        self._record = record
        self._state = record.state
        self._options = options
        self._devices = devices
        self._log = log
        epoch, batch = self._state.places[devices.worker]
        self._batches = Batches(corpus, options.epochs, epoch, batch)

    def train(
        self, words_per_epoch: int | None, progress: bool, guard: SignalGuard
    ) -> None:
        """Runs until the run is to end.

        Args:
            words_per_epoch: of the corpus, if known, to tell how much is left.
            progress: whether to show a bar on stderr.
            guard: entered by the caller.

        Raises:
            KeyboardInterrupt: after Ctrl-C, when the checkpoint is written.
            SystemExit: of status 0, after SIGTERM, when the checkpoint is written.
            Diverged: nothing more was kept.
        """
        self._guard = guard
        self._first_step = self._state.step
        self._deadline = math.inf
        if self._options.minutes is not None:
            self._deadline = monotonic() + 60 * self._options.minutes
        with ExitStack() as stack:
            stream = None if progress else stack.enter_context(open(os.devnull, "w"))
            self._bar = stack.enter_context(
                Progress(
                    "Pretraining",
                    self._total(words_per_epoch),
                    stream=stream,
                    start=self._position(),
                )
            )
            if self._measurement_is_due():
                self._measure()
            self._steps()
            if self._state.step > self._record.last_measured():
                self._measure()

    def _steps(self) -> None:
        batches = iter(self._batches)
        while self._options.steps is None or self._state.step < self._options.steps:
            since = monotonic()
            batch = next(batches, None)
            place = (self._batches.epoch, self._batches.batch)
            statuses = self._devices.all_gather(
                WorkerStatus.of(batch, place, self._stop())
            )
            stop = max(status.stop for status in statuses)
            if stop > _END:
                self._leave(signal.Signals(stop))
            if stop == _END or not any(status.has_batch for status in statuses):
                break
            self._update(batch, statuses)
            self._state.interval.seconds += monotonic() - since
            if self._measurement_is_due():
                self._measure()
            elif self._checkpoint_is_due():
                self._record.save_checkpoint()

    def _update(self, batch: Batch | None, statuses: list[WorkerStatus]) -> None:
        state = self._state
        metrics = self._devices.update(self._model, batch, statuses)
        self._record.check_loss(metrics["loss"])
        words = sum(status.words for status in statuses)
        rows = sum(status.rows for status in statuses)
        state.step += 1
        state.words += words
        state.places = [(status.epoch, status.batch) for status in statuses]
        # Of a row, a direction predicts the words and one of the boundaries.
        state.interval.add(metrics, words, predictions=words + rows)
        self._bar.update(
            words,
            position=self._position(),
            loss=metrics["loss"],
            perplexity=math.exp(min(metrics["loss"], 700.0)),
        )

    def _stop(self) -> int:
        """Returns a reason to stop, which the other workers are told of."""
        if self._guard.requested is not None:
            return int(self._guard.requested)
        if not self._devices.is_chief:
            return _GO_ON
        patience = self._options.patience
        if patience is not None and self._state.measurements_since_best() >= patience:
            return _END
        # Whatever the time it takes to begin, there is something done each time.
        late = monotonic() >= self._deadline and self._state.step > self._first_step
        return _END if late else _GO_ON

    def _leave(self, number: signal.Signals) -> NoReturn:
        self._record.save_checkpoint()
        exit_for_signal(
            number,
            f"stopped after step {self._state.step:,}; "
            f"{self._record.last_checkpoint()} is written: resume to go on from there",
            self._log,
        )

    def _measurement_is_due(self) -> bool:
        """Also when a run goes on that was stopped while it was measured."""
        step = self._state.step
        due = step % self._options.validate_every == 0
        return due and step > self._record.last_measured()

    def _measure(self) -> None:
        # Other workers would wait for one that has left.
        alone = self._devices.num_workers == 1
        try:
            mean = self._record.measure(
                self._guard.interruptible() if alone else nullcontext()
            )
        except Interrupted as interrupted:
            # What goes on from here measures first.
            self._leave(interrupted.number)
        if mean is not None:
            self._bar.update(0, position=self._position(), validation=mean)

    def _checkpoint_is_due(self) -> bool:
        every = self._options.checkpoint_every
        return (every is not None and self._state.step % every == 0) or (
            monotonic() - self._record.last_checkpoint_at
            > 60 * self._options.checkpoint_minutes
        )

    def _position(self) -> float:
        """How far the run has come, in what its limit is given in."""
        if self._options.steps is not None:
            return self._state.step
        if self._options.minutes is not None:
            return 60 * self._options.minutes - (self._deadline - monotonic())
        return self._state.words

    def _total(self, words_per_epoch: int | None) -> float | None:
        if self._options.steps is not None:
            return self._options.steps
        if self._options.minutes is not None:
            return 60 * self._options.minutes
        if words_per_epoch is None or self._options.epochs is None:
            return None
        return words_per_epoch * self._options.epochs
