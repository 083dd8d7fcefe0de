"""Keras callbacks of a run."""

import math
from collections.abc import Iterable

from keras.callbacks import Callback, CallbackList

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.training.pending_steps import Step
from keras_elmo.training.recorder import Interval
from keras_elmo.utils.checks import refuse

_OF_BATCHES = (
    "on_batch_begin",
    "on_batch_end",
    "on_train_batch_begin",
    "on_train_batch_end",
)


def check_callbacks(callbacks: object) -> list[Callback]:
    """Returns the callbacks of `pretrain` as a list, or raises."""
    if callbacks is None:
        return []
    items = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    if not all(isinstance(item, Callback) for item in items):
        refuse("callbacks", "a list of Keras callbacks", callbacks)
    return items


class RunCallbacks:
    """Calls Keras callbacks in the order in which `fit` does.

    An epoch is a pass over the text; one that the end of a run cuts short ends there.
    `read_batches` tells whether a callback has methods for batches.
    """

    def __init__(
        self,
        callbacks: list[Callback],
        model: PretrainingModel,
        epochs: int | None,
        steps: int | None,
    ) -> None:
        self._model = model
        self._list = CallbackList(
            callbacks, add_history=True, model=model, epochs=epochs, steps=steps
        )
        self.read_batches = any(
            getattr(type(callback), name) is not getattr(Callback, name)
            for callback in callbacks
            for name in _OF_BATCHES
        )
        self._epoch: int | None = None
        self._batch = 0
        self._interval = Interval()
        self._measured: dict[str, float] = {}

    def begin(self) -> None:
        """Called before the first step."""
        self._model.stop_training = False
        self._list.on_train_begin()

    def begin_step(self, epoch: int) -> None:
        """Called before a step of some pass."""
        if epoch != self._epoch:
            self._end_epoch()
            self._epoch = epoch
            self._list.on_epoch_begin(epoch)
        if self.read_batches:
            self._list.on_train_batch_begin(self._batch)

    def end_step(self, step: Step) -> None:
        """Called with the metrics of a step."""
        self._interval.add(step)
        if self.read_batches:
            self._list.on_train_batch_end(self._batch, dict(step.metrics))
        self._batch += 1

    def begin_measurement(self) -> None:
        """Called before the validation text is measured."""
        self._list.on_test_begin()

    def end_measurement(self, measured: dict[str, float]) -> None:
        """Called with its perplexities, whose logarithms are the losses of `fit`."""
        names = {"loss": "mean", "forward_loss": "forward", "backward_loss": "backward"}
        logs = {
            name: math.log(measured[f"perplexity_{which}"])
            for name, which in names.items()
        }
        logs["perplexity"] = measured["perplexity_mean"]
        self._list.on_test_end(dict(logs))
        self._measured = {f"val_{name}": value for name, value in logs.items()}

    def end(self) -> None:
        """Called after the last step and measurement."""
        logs = self._end_epoch()
        self._list.on_train_end(logs)

    def _end_epoch(self) -> dict[str, float]:
        if self._epoch is None:
            return {}
        means = self._interval.means()
        forward, backward = means["loss_forward"], means["loss_backward"]
        logs = {
            "loss": (forward + backward) / 2,
            "forward_loss": forward,
            "backward_loss": backward,
            **self._measured,
        }
        self._list.on_epoch_end(self._epoch, logs)
        self._epoch, self._batch = None, 0
        self._interval, self._measured = Interval(), {}
        return logs
