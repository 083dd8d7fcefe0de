"""What a run asks of devices, and how a batch is divided among them."""

import contextlib
import dataclasses
import os
from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.batch_shapes import pad_batch
from keras_elmo.training.training_data import Batch, check_batch, count_words
from keras_elmo.utils.types import Tensor

# No row has fewer positions: its two boundaries.
_MIN_TOKENS = 2


def split_batch(
    batch: Batch | None, parts: int, num_ids: int = MAX_CHARACTERS
) -> list[Batch]:
    """Returns parts of the same shape, one for each device.

    A part has every `parts`-th row, because rows of similar length follow each other.
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
    """Returns a batch with the ids of each position, instead of distinct words."""
    if "char_ids" in batch:
        return batch
    char_ids = np.asarray(batch["words"])[np.asarray(batch["positions"])]
    return {"char_ids": char_ids, "token_ids": batch["token_ids"]}


@dataclasses.dataclass(frozen=True)
class WorkerStatus:
    """What each worker tells all workers before a step."""

    epoch: int
    batch: int  # of the epoch, the next one included
    has_batch: int = 0  # 0 at the end of its text
    words: int = 0  # of the next batch, as the following three
    predictions: int = 0  # of a direction
    rows: int = 0
    tokens: int = 0
    stop: int = 0  # a reason to stop, else 0
    progress: int = 0  # towards the end of the run, in millionths

    @classmethod
    def of(cls, batch: Batch, position: tuple[int, int]) -> "WorkerStatus":
        check_batch(batch)
        words, predictions = count_words(batch)
        rows, tokens = np.shape(batch["token_ids"])
        return cls(*position, 1, words, predictions, rows, tokens)


def most_cpu_devices() -> int:
    """Returns into how many devices a CPU may be divided."""
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
        if self.num_workers == 1:
            return [status]
        rows = self.gather_rows(np.array(dataclasses.astuple(status)))
        return [WorkerStatus(*row) for row in rows.tolist()]

    def gather_rows(self, row: np.ndarray) -> np.ndarray:
        """Returns the rows of all workers, in their order."""
        raise NotImplementedError  # One worker has no other.

    def wait(self) -> None:
        """Returns when every worker has called it."""
        self.all_gather(WorkerStatus(0, 0))

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
        return {**model.train_step((batch,)), **read_gradient_norm(model)}

    def set_learning_rate(self, model: PretrainingModel, rate: float) -> None:
        """Sets the learning rate of the next update."""
        model.optimizer.learning_rate = rate

    def write_variables(self, model: PretrainingModel) -> None:
        """Called after the last of some updates, before the variables are read."""

    def after_restore(self, model: PretrainingModel) -> None:
        """Called when the variables have their initial or restored values."""


def read_gradient_norm(model: PretrainingModel) -> dict[str, Tensor]:
    """Returns the norm of the last gradients, which Keras's own optimizers lack."""
    norm = getattr(model.optimizer, "gradient_norm", None)
    # What is in a variable changes in the next update.
    return {} if norm is None else {"gradient_norm": ops.copy(norm)}
