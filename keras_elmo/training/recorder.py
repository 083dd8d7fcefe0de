"""How far a run is: what a checkpoint holds beside the variables of its model."""

import dataclasses
import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from time import monotonic
from typing import Any, NoReturn

import numpy as np

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.corpus import Corpus
from keras_elmo.training.checkpoint import Checkpoints
from keras_elmo.training.data import Batch
from keras_elmo.training.devices.base import Devices
from keras_elmo.training.history import Row, write_curves
from keras_elmo.training.optimizers import learning_rate_at
from keras_elmo.training.perplexity import perplexity
from keras_elmo.utils.large_variables import blocks_of

# A step's weight in the running mean of the loss, which thus is of some 100 steps.
_WEIGHT = 0.01
# A loss that many times the running mean is not one of a run that learns.
_DIVERGED = 10.0


@dataclasses.dataclass
class Interval:
    """Sums over the steps since the last row of the history.

    Python's floats, and JSON's, are of 64 bits: what is restored goes on exactly.
    """

    steps: int = 0
    words: int = 0
    seconds: float = 0.0
    predictions: int = 0
    loss_forward: float = 0.0
    loss_backward: float = 0.0
    gradient_norm: float = 0.0

    def add(self, metrics: dict[str, float], words: int, predictions: int) -> None:
        """Adds a step, of which `metrics` holds means over its predictions."""
        self.steps += 1
        self.words += words
        self.predictions += predictions
        self.loss_forward += predictions * metrics["forward_loss"]
        self.loss_backward += predictions * metrics["backward_loss"]
        self.gradient_norm += metrics["gradient_norm"]

    def means(self) -> dict[str, float]:
        """Returns the columns of the history that are means."""
        predictions = max(self.predictions, 1)
        return {
            "words_per_second": round(self.words / max(self.seconds, 1e-9), 1),
            "gradient_norm": self.gradient_norm / max(self.steps, 1),
            "loss_forward": self.loss_forward / predictions,
            "loss_backward": self.loss_backward / predictions,
        }


@dataclasses.dataclass
class RunState:
    """What a run knows of itself.

    Attributes:
        step: updates that are made.
        words: that were read in them.
        seconds: that they, measurements and checkpoints took, in all processes.
        places: of each worker, the pass it is in and how many batches of it were read.
        mean_loss: the running mean of the loss, `None` before the first step.
        interval: the steps since the last row of the history.
        rows: the history.
        vocabulary: a digest of the words that are predicted.
    """

    step: int = 0
    words: int = 0
    seconds: float = 0.0
    places: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    mean_loss: float | None = None
    interval: Interval = dataclasses.field(default_factory=Interval)
    rows: list[Row] = dataclasses.field(default_factory=list)
    vocabulary: str | None = None

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "RunState":
        """Returns the state that `to_json` gave.

        Raises:
            ValueError: it is none.
        """
        try:
            return cls(
                **{
                    **value,
                    "places": [(epoch, batch) for epoch, batch in value["places"]],
                    "interval": Interval(**value["interval"]),
                    "rows": [Row(**row) for row in value["rows"]],
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the state of a run: {error!r}") from error

    def diverges(self, loss: float) -> bool:
        """Whether a step's loss says that the run learns no more; else counts it in."""
        mean = loss if self.mean_loss is None else self.mean_loss
        if not math.isfinite(loss) or loss > _DIVERGED * mean:
            return True
        self.mean_loss = mean + _WEIGHT * (loss - mean)
        return False

    def best(self) -> float:
        """Returns the lowest perplexity of the validation text; infinite without."""
        measured = (row.perplexity_mean for row in self.rows)
        return min((p for p in measured if p is not None), default=math.inf)

    def measurements_since_best(self) -> int:
        """How often the perplexity was measured since it was lowest."""
        measured = [row.perplexity_mean for row in self.rows]
        known = [p for p in measured if p is not None]
        return len(known) - 1 - known.index(min(known)) if known else 0


class Diverged(RuntimeError):
    """The loss is no number, or far above what it was."""


class RunRecorder:
    """Restores the state of a run, measures it and keeps it.

    Every worker measures, so that all know what is best; the chief alone writes.

    Args:
        model: compiled, its optimizer built.
        validation: held-out text or batches, or `None`.
        files: of the run.
        checkpoints: those of `files`.
        devices: where the run is computed.
        learning_rate: of the optimizer, a number or a schedule.
        tensorboard: whether the curves are written for TensorBoard, too.
        log: told what a person should know.

    Attributes:
        state: how far the run is.
        last_checkpoint_at: `time.monotonic()` of the last checkpoint.

    Raises:
        ValueError: no checkpoint is whole, or they are of another run.
    """

    def __init__(
        self,
        model: PretrainingModel,
        validation: Corpus | Iterable[Batch] | None,
        files: PretrainingDirectory,
        checkpoints: Checkpoints,
        devices: Devices,
        learning_rate: Any,
        tensorboard: bool,
        log: Callable[[str], None],
    ) -> None:
        self._model = model
        self._validation = validation
        self._files = files
        self._checkpoints = checkpoints
        self._devices = devices
        self._learning_rate = learning_rate
        self._tensorboard = tensorboard
        self._log = log
        self.state = self._restored()
        self.last_checkpoint_at = monotonic()
        self._began = monotonic() - self.state.seconds
        self._write_curves()

    def _restored(self) -> RunState:
        words = self._model.vocabulary
        vocabulary = None if words is None else words.digest()
        workers = self._devices.num_workers

        def check_words(progress: dict[str, Any]) -> None:
            state = self._state(progress)
            if state.vocabulary != vocabulary:
                raise ValueError(
                    f"{self._files.vocabulary} is not the one that the run began with: "
                    f"{self._checkpoints.path(state.step)} was trained with other words"
                )

        progress = self._checkpoints.restore(self._model, self._log, check_words)
        self._devices.restored(self._model)
        if progress is None:
            return RunState(places=[(0, 0)] * workers, vocabulary=vocabulary)
        state = self._state(progress)
        if len(state.places) != workers:
            # Each has another share of the text now.
            epoch = min(epoch for epoch, _ in state.places)
            self._log(
                f"{len(state.places)} workers became {workers}: pass {epoch + 1} over "
                "the text begins anew"
            )
            state.places = [(epoch, 0)] * workers
        return state

    def _state(self, progress: dict[str, Any]) -> RunState:
        try:
            return RunState.from_json(progress)
        except ValueError as error:
            raise ValueError(f"{self._files.checkpoints}: {error}") from error

    def last_checkpoint(self) -> str:
        """Returns the path of the checkpoint of the state's step."""
        return self._checkpoints.path(self.state.step)

    def last_measured(self) -> int:
        """Returns the step of the last measurement."""
        return self.state.rows[-1].step if self.state.rows else 0

    def measure(self, interruptible: AbstractContextManager[Any]) -> float | None:
        """Adds a point to the learning curves and keeps what it says is best.

        Args:
            interruptible: entered while nothing changes; may raise at any time.

        Returns:
            The perplexity of the validation text, if there is one.
        """
        validated = {}
        if self._validation is not None:
            with interruptible:
                measured = perplexity(self._model, self._validation)
            validated = {
                f"perplexity_{name}": measured[name]
                for name in ("forward", "backward", "mean")
            }
        self._check_weights()
        mean = validated.get("perplexity_mean")
        # Without a validation text, the last weights count as the best.
        is_best = mean is None or mean <= self.state.best()
        if is_best and self._devices.is_chief:
            self._files.write_weights(self._model)
        state = self.state
        state.rows.append(
            Row(
                step=state.step,
                epoch=state.places[0][0],
                words=state.words,
                seconds=round(monotonic() - self._began, 1),
                learning_rate=learning_rate_at(self._learning_rate, state.step),
                **state.interval.means(),
                **validated,
            )
        )
        state.interval = Interval()
        # The checkpoint first: it has the rows, too, so that none is lost.
        self.save_checkpoint()
        self._write_curves()
        return mean

    def save_checkpoint(self) -> None:
        """Writes a checkpoint."""
        if not self._devices.is_chief:
            return
        self._check_weights()
        self.last_checkpoint_at = monotonic()
        self.state.seconds = monotonic() - self._began
        self._checkpoints.save(self.state.step, self._model, self.state.to_json())

    def check_loss(self, loss: float) -> None:
        """Takes notice of the next step's loss.

        Raises:
            Diverged: it says that the run learns no more.
        """
        if self.state.diverges(loss):
            self._diverged(f"the loss of step {self.state.step + 1:,} is {loss:.4g}")

    def _check_weights(self) -> None:
        """The update of a finite loss may have made them infinite."""
        for variable in self._model.trainable_variables:
            if not all(np.isfinite(block).all() for block in blocks_of(variable)):
                self._diverged(
                    f"the weights of {variable.path} are no finite numbers after step "
                    f"{self.state.step:,}"
                )

    def _diverged(self, what: str) -> NoReturn:
        steps = self._checkpoints.steps()
        kept = (
            f"the last good checkpoint is {self._checkpoints.path(steps[-1])}"
            if steps
            else "there is no checkpoint before"
        )
        advice = ". Begin a new run with a lower learning rate"
        if self._files.holds_a_model():
            advice += f", or go on from its best weights with init={self._files.path!r}"
        raise Diverged(f"the run diverged: {what}; {kept}{advice}")

    def _write_curves(self) -> None:
        if self._devices.is_chief:
            write_curves(self._files, self.state.rows, self._tensorboard)
