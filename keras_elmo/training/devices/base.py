"""The interface of devices, and how a batch is divided among them."""

import contextlib
import dataclasses
import os
from collections.abc import Mapping

import numpy as np
from keras import ops

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.training.data import Batch, check_batch
from keras_elmo.utils.types import Tensor

# No row has fewer positions: its two boundaries.
_MIN_TOKENS = 2


def split_batch(
    batch: Batch | None, parts: int, num_ids: int = MAX_CHARACTERS
) -> list[Batch]:
    """Returns a part of the rows for each device, all of the same shape.

    Every `parts`-th row, because rows of similar length follow each other.
    """
    rows = 0 if batch is None else len(batch["token_ids"])
    # At least one row each: a device cannot multiply an empty part.
    padded = pad_batch(batch, parts * max(1, -(-rows // parts)), num_ids=num_ids)
    return [
        {name: value[part::parts] for name, value in padded.items()}
        for part in range(parts)
    ]


def pad_batch(
    batch: Batch | None,
    rows: int,
    tokens: int = _MIN_TOKENS,
    num_ids: int = MAX_CHARACTERS,
) -> Batch:
    """Pads the batch with masked rows and positions up to these numbers."""
    if batch is None:
        batch = {
            "char_ids": np.zeros((0, _MIN_TOKENS, num_ids), "int32"),
            "token_ids": np.full((0, _MIN_TOKENS), PADDING_ID, "int32"),
        }
    char_ids, token_ids = (np.asarray(batch[k]) for k in ("char_ids", "token_ids"))
    padding = (
        (0, max(0, rows - token_ids.shape[0])),
        (0, max(0, tokens - token_ids.shape[1])),
    )
    return {
        "char_ids": np.pad(char_ids, (*padding, (0, 0))),
        "token_ids": np.pad(token_ids, padding, constant_values=PADDING_ID),
    }


@dataclasses.dataclass(frozen=True)
class WorkerStatus:
    """What each worker sends to all others before a step."""

    has_batch: int  # 0 at the end of its text
    epoch: int
    batch: int  # of the epoch, the next one included
    words: int  # of the next batch, as the following two
    rows: int
    tokens: int
    stop: int  # a reason to stop, else 0

    @classmethod
    def of(
        cls, batch: Batch | None, position: tuple[int, int], stop: int
    ) -> "WorkerStatus":
        if batch is None:
            return cls(0, *position, 0, 0, 0, stop)
        check_batch(batch)
        token_ids = np.asarray(batch["token_ids"])
        rows, tokens = token_ids.shape
        # Every row has two boundaries.
        words = int(np.sum(token_ids != PADDING_ID)) - 2 * rows
        return cls(1, *position, words, rows, tokens, stop)


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
    """

    worker = 0
    num_workers = 1
    num_replicas = 1

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

    def update(
        self, model: PretrainingModel, batch: Batch | None, statuses: list[WorkerStatus]
    ) -> dict[str, float]:
        """Makes one update with the batches of all workers.

        Returns means over all predictions, `loss`, `forward_loss` and `backward_loss`,
        and `gradient_norm`.
        """
        return step_metrics(model.train_on_batch(batch, return_dict=True), model)

    def after_restore(self, model: PretrainingModel) -> None:
        """Called when the variables have their initial or restored values."""


def step_metrics(
    logs: Mapping[str, Tensor], model: PretrainingModel
) -> dict[str, float]:
    """Returns the metrics of a step as numbers."""
    norm = ops.convert_to_numpy(model.optimizer.gradient_norm)
    metrics = {name: float(value) for name, value in logs.items()}
    return metrics | {"gradient_norm": float(norm)}
