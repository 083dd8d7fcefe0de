"""The interface of devices, and how a batch is divided among them."""

import contextlib
import dataclasses
import os
from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.batch_shapes import pad_batch
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.training.training_data import Batch, check_batch
from keras_elmo.utils.types import Tensor

# No row has fewer positions: its two boundaries.
_MIN_TOKENS = 2


def split_batch(
    batch: Batch | None, parts: int, num_ids: int = MAX_CHARACTERS
) -> list[Batch]:
    """Returns a part of the rows for each device, all of the same shape.

    Every `parts`-th row, because rows of similar length follow each other.
    """
    if batch is None:
        batch = no_rows(num_ids)
    rows = len(batch["token_ids"])
    # At least one row each: a device cannot multiply an empty part.
    padded = pad_batch(batch, parts * max(1, -(-rows // parts)), _MIN_TOKENS)
    # Each has all distinct words, if they are listed.
    words = {name: padded.pop(name) for name in ("words",) if name in padded}
    return [
        {**words, **{name: value[part::parts] for name, value in padded.items()}}
        for part in range(parts)
    ]


def no_rows(num_ids: int) -> Batch:
    """Returns a batch without rows."""
    return {
        "char_ids": np.zeros((0, _MIN_TOKENS, num_ids), "int32"),
        "token_ids": np.zeros((0, _MIN_TOKENS), "int32"),
    }


def spelled_out(batch: Batch) -> Batch:
    """Returns a batch of distinct words with the ids of the word of each position."""
    if "char_ids" in batch:
        return batch
    char_ids = np.asarray(batch["words"])[np.asarray(batch["positions"])]
    return {"char_ids": char_ids, "token_ids": batch["token_ids"]}


@dataclasses.dataclass(frozen=True)
class WorkerStatus:
    """What each worker sends to all others before a step."""

    has_batch: int  # 0 at the end of its text
    epoch: int
    batch: int  # of the epoch, the next one included
    words: int  # of the next batch, as the following three
    predictions: int  # of a direction
    rows: int
    tokens: int
    stop: int  # a reason to stop, else 0
    progress: int = 0  # towards the end of the run, in millionths

    @classmethod
    def of(
        cls, batch: Batch | None, position: tuple[int, int], stop: int
    ) -> "WorkerStatus":
        if batch is None:
            return cls(0, *position, 0, 0, 0, 0, stop)
        check_batch(batch)
        token_ids = np.asarray(batch["token_ids"])
        # Every row has two boundaries, of which a direction predicts one, unless all of
        # it is masked.
        predictions = int(np.sum(token_ids[:, 1:] != PADDING_ID))
        words = predictions - int(np.sum(token_ids[:, 0] != PADDING_ID))
        rows, tokens = token_ids.shape
        return cls(1, *position, words, predictions, rows, tokens, stop)


def most_cpu_devices() -> int:
    """Returns into how many devices a CPU is divided at most."""
    # More than there are cores help to try what several devices do.
    return max(8, os.cpu_count() or 1)


class Devices:
    """One device of one process, on any backend; base of the other kinds.

    Attributes:
        worker: index of this process.
        num_workers: processes that compute each update together.
        num_replicas: devices of this process that share a batch.
        batches_ahead: batches to place while an update is computed.
        compiles: whether a program is compiled for each shape of a batch.
        compiles_ahead: whether for all shapes at once, beside the first updates.
        on_gpu: whether a GPU computes.
    """

    on_gpu = False
    worker = 0
    num_workers = 1
    num_replicas = 1
    batches_ahead = 0
    compiles = False
    compiles_ahead = False

    @property
    def is_chief(self) -> bool:
        """Whether this process writes the files."""
        return self.worker == 0

    def scope(self) -> contextlib.AbstractContextManager[object]:
        """Returns the context to build the model and its optimizer in."""
        return contextlib.nullcontext()

    def all_gather(self, status: WorkerStatus) -> list[WorkerStatus]:
        """Returns the statuses of all workers."""
        return [status]

    def wait(self) -> None:
        """Returns when every worker has called it."""
        self.all_gather(WorkerStatus.of(None, (0, 0), 0))

    def place(self, batch: Batch) -> Batch:
        """Returns a batch as `update` takes it, in the memory of the device."""
        return {name: ops.convert_to_tensor(value) for name, value in batch.items()}

    def compile(self, model: PretrainingModel, batches: Sequence[Batch]) -> bool:
        """Compiles updates with batches of these shapes, if that can be done ahead.

        Waits for the first one alone. Returns whether it was done.
        """
        return False

    def close(self) -> None:
        """Gives up what is still being compiled."""

    def update(
        self, model: PretrainingModel, batch: Batch | None, statuses: list[WorkerStatus]
    ) -> dict[str, Tensor]:
        """Makes one update with the batches of all workers.

        Returns means over all predictions, `loss`, `forward_loss` and `backward_loss`,
        and `gradient_norm`, if the optimizer knows it. The device may still compute
        them.
        """
        model.reset_metrics()
        return {**model.train_step((batch,)), **gradient_norm_of(model)}

    def set_learning_rate(self, model: PretrainingModel, rate: float) -> None:
        """Sets the learning rate of the next update."""
        model.optimizer.learning_rate = rate

    def write_variables(self, model: PretrainingModel) -> None:
        """Called after the last of some updates, before the variables are read."""

    def after_restore(self, model: PretrainingModel) -> None:
        """Called when the variables have their initial or restored values."""


def gradient_norm_of(model: PretrainingModel) -> dict[str, Tensor]:
    """Returns the norm of the last gradients, which Keras's own optimizers lack."""
    norm = getattr(model.optimizer, "gradient_norm", None)
    # What is in a variable changes in the next update.
    return {} if norm is None else {"gradient_norm": ops.copy(norm)}
