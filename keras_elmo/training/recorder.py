"""The state of a run: what is measured, kept and restored."""

import dataclasses
import glob
import math
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from time import monotonic
from typing import NoReturn

import numpy as np

from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.finding import RunFiles
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.run_history import HistoryRow, write_history
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.plots import plot_history
from keras_elmo.training.devices.base import Devices
from keras_elmo.training.pending_steps import Step
from keras_elmo.training.perplexity import perplexity
from keras_elmo.training.training_data import Batches
from keras_elmo.utils.checks import counted
from keras_elmo.utils.large_variables import blocks_of
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Config

# Least weight of a step in the running mean of the loss: a mean of some 100 steps.
_MEAN_LOSS_WEIGHT = 0.01
# A run has diverged if its loss exceeds the running mean by this factor.
_DIVERGED = 10.0
_NO_CURVES = ("step", "epoch", "words", "seconds")


class Diverged(RuntimeError):
    """The loss is not a number, or far above its running mean."""


@dataclasses.dataclass
class Interval:
    """Sums over some steps: since the last row of the history, or of an epoch.

    Python's floats and JSON's have 64 bits: restored sums are exact.
    """

    steps: int = 0
    words: int = 0
    seconds: float = 0.0
    predictions: int = 0
    loss_forward: float = 0.0
    loss_backward: float = 0.0
    gradient_norm: float = 0.0

    def add(self, step: Step) -> None:
        """Adds a step, whose metrics are means over its predictions."""
        self.steps += 1
        self.words += step.words
        self.predictions += step.predictions
        self.loss_forward += step.predictions * step.metrics["forward_loss"]
        self.loss_backward += step.predictions * step.metrics["backward_loss"]
        # Keras's own optimizers do not tell it.
        self.gradient_norm += step.metrics.get("gradient_norm", 0.0)

    def means(self) -> Config:
        """Returns the columns of the history that are means."""
        predictions = max(self.predictions, 1)
        return {
            "words_per_second": round(self.words / max(self.seconds, 1e-9), 1),
            "gradient_norm": self.gradient_norm / max(self.steps, 1) or None,
            "loss_forward": self.loss_forward / predictions,
            "loss_backward": self.loss_backward / predictions,
        }


@dataclasses.dataclass
class RunState:
    """What a checkpoint holds beside the variables.

    Attributes:
        words: words read so far.
        seconds: time of all processes of the run, measurements included.
        positions: for each worker, its epoch and the batches of it that were read.
        mean_loss: running mean of the loss.
        vocabulary: digest of the words that are predicted.
        minutes: those that the run ended with, if it did.
    """

    step: int = 0
    words: int = 0
    seconds: float = 0.0
    positions: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    mean_loss: float | None = None
    interval: Interval = dataclasses.field(default_factory=Interval)
    rows: list[HistoryRow] = dataclasses.field(default_factory=list)
    vocabulary: str | None = None
    minutes: float = 0.0

    def to_json(self) -> Config:
        value = dataclasses.asdict(self)
        # The key of the checkpoints' format.
        value["places"] = value.pop("positions")
        return value

    @classmethod
    def from_json(cls, value: Config, where: str) -> "RunState":
        """Returns the state that `to_json` was called on; `where` is for the error."""
        try:
            value = dict(value)
            positions = [(epoch, batch) for epoch, batch in value.pop("places")]
            interval = Interval(**value.pop("interval"))
            rows = [HistoryRow(**row) for row in value.pop("rows")]
            return cls(positions=positions, interval=interval, rows=rows, **value)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{where}: not the state of a run: {error!r}") from error

    def diverges(self, number: int, loss: float) -> bool:
        """Whether a step's loss has diverged; else adds it to the running mean."""
        mean = loss if self.mean_loss is None else self.mean_loss
        if not math.isfinite(loss) or loss > _DIVERGED * mean:
            return True
        self.mean_loss = mean + max(_MEAN_LOSS_WEIGHT, 1 / number) * (loss - mean)
        return False

    def is_measured(self) -> bool:
        """Whether the history has a row of the last step."""
        return self.step <= (self.rows[-1].step if self.rows else 0)

    def best(self) -> float:
        """Returns the lowest perplexity of the validation text; infinite without."""
        return min(self._perplexities(), default=math.inf)

    def measurements_since_best(self) -> int:
        """Returns the number of measurements since the lowest perplexity."""
        known = self._perplexities()
        return len(known) - 1 - known.index(min(known)) if known else 0

    def _perplexities(self) -> list[float]:
        measured = (row.perplexity_mean for row in self.rows)
        return [perplexity for perplexity in measured if perplexity is not None]


@dataclasses.dataclass
class RunRecorder:
    """Restores the `state` of a run, measures it and writes it to files.

    Every worker measures, so that all know the best perplexity; the chief writes.
    """

    model: PretrainingModel
    validation: Batches | None
    files: PretrainingDirectory
    checkpoints: Checkpoints
    devices: Devices
    tensorboard: bool
    log: Callable[[str], None]

    def __post_init__(self) -> None:
        self.state = self._restored()
        self.last_checkpoint_at = monotonic()
        self._began = monotonic() - self.state.seconds
        self._write_curves()

    def _restored(self) -> RunState:
        words = self.model.vocabulary
        vocabulary = None if words is None else words.digest()
        workers = self.devices.num_workers

        def check_words(progress: Config) -> None:
            state = RunState.from_json(progress, self.files.checkpoints)
            if state.vocabulary != vocabulary:
                raise ValueError(
                    f"{self.files.vocabulary} is not the one that the run began with: "
                    f"{self.checkpoints.path(state.step)} was trained with other words"
                )

        progress = self.checkpoints.restore(self.model, self.log, check_words)
        self.devices.after_restore(self.model)
        if progress is None:
            return RunState(positions=[(0, 0)] * workers, vocabulary=vocabulary)
        state = RunState.from_json(progress, self.files.checkpoints)
        if len(state.positions) != workers:
            # Each has another share of the text now.
            epoch = min(epoch for epoch, _ in state.positions)
            before = counted(len(state.positions), "worker")
            self.log(f"{before} became {workers}: epoch {epoch + 1} begins anew")
            state.positions = [(epoch, 0)] * workers
        return state

    def measure(
        self, interruptible: AbstractContextManager[None], learning_rate: float
    ) -> dict[str, float]:
        """Adds a row to the history, keeps the best weights and writes a checkpoint.

        `interruptible` is entered while nothing changes; it may raise at any time.
        Returns the perplexities of the validation text, if there is one.
        """
        measured: dict[str, float] = {}
        if self.validation is not None:
            with interruptible:
                perplexities = perplexity(self.model, self.validation)
            measured = {
                f"perplexity_{name}": perplexities[name]
                for name in ("forward", "backward", "mean")
            }
        self._check_weights()
        mean = measured.get("perplexity_mean")
        state = self.state
        # Without a validation text, the last weights count as the best.
        is_best = mean is None or mean <= state.best()
        if is_best and self.devices.is_chief:
            self.files.write_weights(self.model)
        state.rows.append(
            HistoryRow(
                step=state.step,
                epoch=state.positions[0][0],
                words=state.words,
                seconds=round(monotonic() - self._began, 1),
                learning_rate=learning_rate,
                **state.interval.means(),
                **measured,
            )
        )
        state.interval = Interval()
        # The checkpoint comes first: it has the rows, too, so none is lost.
        self.save_checkpoint()
        self._write_curves()
        return measured

    def save_checkpoint(self) -> None:
        if not self.devices.is_chief:
            return
        self._check_weights()
        self.last_checkpoint_at = monotonic()
        self.state.seconds = monotonic() - self._began
        self.checkpoints.save(self.state.step, self.model, self.state.to_json())

    def add(self, step: Step) -> float:
        """Adds the metrics of a step, or raises `Diverged` if its loss has.

        Returns the running mean of the loss.
        """
        loss = step.metrics["loss"]
        if self.state.diverges(step.number, loss):
            self._diverged(f"the loss of step {step.number:,} is {loss:.4g}")
        self.state.interval.add(step)
        return float(self.state.mean_loss or 0.0)

    def _check_weights(self) -> None:
        """Checks the weights: the update after a finite loss may be infinite."""
        for variable in self.model.trainable_variables:
            if not all(np.isfinite(block).all() for block in blocks_of(variable)):
                self._diverged(
                    f"the weights of {variable.path} are no finite numbers after step "
                    f"{self.state.step:,}"
                )

    def _diverged(self, what: str) -> NoReturn:
        kept = "there is no checkpoint before"
        if steps := self.checkpoints.steps():
            kept = f"the last good checkpoint is {self.checkpoints.path(steps[-1])}"
        advice = "Begin a new run with a lower learning rate"
        if self.files.holds_a_model():
            advice += f", or with the best weights as `init`: {self.files.path}"
        raise Diverged(f"the run diverged: {what}; {kept}. {advice}")

    def _write_curves(self) -> None:
        if self.devices.is_chief:
            write_curves(self.files, self.state.rows, self.tensorboard)


def write_curves(
    files: RunFiles, rows: Sequence[HistoryRow], tensorboard: bool = False
) -> None:
    """Writes history.csv, its plot, and TensorBoard's scalars.

    Writes all rows each time, so a run that was killed and repeats steps leaves neither
    gaps nor repeated points.
    """
    write_history(files.history, rows)
    plot_history(rows, files.curves)
    if tensorboard:
        _write_scalars(files.tensorboard, rows)


def _write_scalars(folder: str, rows: Sequence[HistoryRow]) -> None:
    before = glob.glob(os.path.join(glob.escape(folder), "events.*"))
    # tf.summary.scalar does the same, but needs TensorBoard.
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "scalars"
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        for row in rows:
            for name, value in dataclasses.asdict(row).items():
                if value is not None and name not in _NO_CURVES:
                    number = tf.constant(value, "float32")
                    tf.summary.write(name, number, step=row.step, metadata=metadata)
    writer.close()
    for path in before:
        os.remove(path)
