"""The steps of a run: update, measure, keep."""

import dataclasses
import math
import os
from collections.abc import Iterable
from contextlib import ExitStack
from time import monotonic

import numpy as np

from keras_elmo.files.directory import PretrainingDirectory
from keras_elmo.models.language_model_head import PADDING_ID
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.plots import plot_history
from keras_elmo.progress import Progress
from keras_elmo.text.corpus import Corpus
from keras_elmo.training.batches import Batch, Batches
from keras_elmo.training.checkpoint import restore_checkpoint, save_checkpoint
from keras_elmo.training.history import History, Row
from keras_elmo.training.interruption import Interruption
from keras_elmo.training.perplexity import perplexity

_SECONDS_BETWEEN_CHECKPOINTS = 600.0


@dataclasses.dataclass(frozen=True)
class Limits:
    """What ends a run; whichever comes first."""

    steps: int | None
    epochs: int | None
    minutes: float | None


class Run:
    """Trains a model, going on from the directory's checkpoint if there is one.

    Args:
        model: compiled, its optimizer built.
        corpus: text or batches to train on.
        validation: held-out text or batches, or `None`.
        files: where everything is kept.
        limits: what ends the run.
    """

    def __init__(
        self,
        model: PretrainingModel,
        corpus: Corpus | Iterable[Batch],
        validation: Corpus | Iterable[Batch] | None,
        files: PretrainingDirectory,
        limits: Limits,
    ) -> None:
        self._model = model
        self._validation = validation
        self._files = files
        self._limits = limits
        self._step = self._words = 0
        self._seconds = 0.0
        place: dict[str, int] = {}
        if os.path.exists(files.checkpoint):
            position = restore_checkpoint(files.checkpoint, model)
            self._step, self._words = position["step"], position["words"]
            self._seconds = position["seconds"]
            place = {name: position[name] for name in ("epoch", "batch")}
        self._batches = Batches(corpus, limits.epochs, **place)
        self._history = History(files.history, last_step=self._step)
        measured = [row.perplexity_mean for row in self._history.rows]
        self._best = min((p for p in measured if p is not None), default=math.inf)

    def train(
        self, validate_every: int, words_per_epoch: int | None, progress: bool
    ) -> None:
        """Runs until a limit is reached.

        Args:
            validate_every: steps between two measurements and checkpoints.
            words_per_epoch: of the corpus, if known, to tell how much is left.
            progress: whether to show a bar on stderr.

        Raises:
            KeyboardInterrupt: after Ctrl-C, when the checkpoint is written.
        """
        self._began = self._kept = monotonic() - self._seconds
        self._deadline = math.inf
        if self._limits.minutes is not None:
            self._deadline = monotonic() + 60 * self._limits.minutes
        if self._at_limit():
            return
        with ExitStack() as stack:
            stream = None if progress else stack.enter_context(open(os.devnull, "w"))
            total = self._total(words_per_epoch)
            bar = stack.enter_context(
                Progress("Pretraining", total, stream=stream, start=self._position())
            )
            interruption = stack.enter_context(Interruption())
            self._steps(validate_every, bar, interruption)

    def _steps(
        self, validate_every: int, bar: Progress, interruption: Interruption
    ) -> None:
        for batch in self._batches:
            logs = self._model.train_on_batch(batch, return_dict=True)
            words = _count_words(batch)
            self._step += 1
            self._words += words
            bar.update(words, position=self._position(), **_figures(logs))
            if self._at_limit():
                break
            if self._step % validate_every == 0:
                self._measure(bar)
            if interruption.requested:
                self._keep()
                raise KeyboardInterrupt(
                    f"stopped after step {self._step:,}; {self._files.checkpoint} is "
                    "written: resume to go on from there"
                )
            if monotonic() - self._kept > _SECONDS_BETWEEN_CHECKPOINTS:
                self._keep()
        rows = self._history.rows
        if not rows or rows[-1].step != self._step:
            self._measure(bar)

    def _measure(self, bar: Progress) -> None:
        """Adds a point to the learning curves and keeps what it says is best."""
        validated = {}
        if self._validation is not None:
            measured = perplexity(self._model, self._validation)
            validated = {
                f"perplexity_{name}": measured[name]
                for name in ("forward", "backward", "mean")
            }
            bar.update(0, position=self._position(), validation=measured["mean"])
        # Without a validation text, the last weights count as the best.
        mean = validated.get("perplexity_mean", self._best)
        if mean <= self._best:
            self._best = mean
            self._files.write_weights(self._model)
        losses = self._model.get_metrics_result()
        self._model.reset_metrics()
        # The checkpoint first: history drops the rows of steps after it on resume.
        self._keep()
        self._history.append(
            Row(
                step=self._step,
                epoch=self._batches.epoch,
                words=self._words,
                seconds=round(monotonic() - self._began, 1),
                loss_forward=float(losses["forward_loss"]),
                loss_backward=float(losses["backward_loss"]),
                **validated,
            )
        )
        plot_history(self._history.rows, self._files.curves)

    def _keep(self) -> None:
        self._kept = monotonic()
        position = {
            "step": self._step,
            "words": self._words,
            "seconds": monotonic() - self._began,
            "epoch": self._batches.epoch,
            "batch": self._batches.batch,
        }
        save_checkpoint(self._files.checkpoint, self._model, position)

    def _at_limit(self) -> bool:
        steps = self._limits.steps
        return (steps is not None and self._step >= steps) or (
            monotonic() >= self._deadline
        )

    def _position(self) -> float:
        """How far the run has come, in what its limit is given in."""
        if self._limits.steps is not None:
            return self._step
        if self._limits.minutes is not None:
            return 60 * self._limits.minutes - (self._deadline - monotonic())
        return self._words

    def _total(self, words_per_epoch: int | None) -> float | None:
        if self._limits.steps is not None:
            return self._limits.steps
        if self._limits.minutes is not None:
            return 60 * self._limits.minutes
        if words_per_epoch is None or self._limits.epochs is None:
            return None
        return words_per_epoch * self._limits.epochs


def _count_words(batch: Batch) -> int:
    token_ids = np.asarray(batch["token_ids"])
    # Every row has two boundaries.
    return int(np.sum(token_ids != PADDING_ID)) - 2 * len(token_ids)


def _figures(logs: dict[str, float]) -> dict[str, float]:
    loss = float(logs["loss"])
    return {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}
