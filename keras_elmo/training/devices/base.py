"""Batches as several devices need them."""

import contextlib
import dataclasses
from typing import Any

import numpy as np
from keras import ops

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.training.data import Batch

# What no row has fewer of: its two boundaries.
_LEAST_TOKENS = 2


def split_batch(batch: Batch | None, parts: int) -> list[Batch]:
    """Returns batches of every so many rows, padded to the same number.

    Rows of like length follow each other, so each part gets its share of the long
    ones.
    """
    rows = 0 if batch is None else len(batch["token_ids"])
    # At least one each: what a device multiplies must not be empty.
    padded_rows = parts * max(1, -(-rows // parts))
    whole = pad_batch(batch, padded_rows)
    return [
        {name: value[part::parts] for name, value in whole.items()}
        for part in range(parts)
    ]


def pad_batch(batch: Batch | None, rows: int, tokens: int = _LEAST_TOKENS) -> Batch:
    """Returns the batch with at least so many rows and positions, masked ones."""
    if batch is None:
        batch = {
            "char_ids": np.zeros((0, _LEAST_TOKENS, MAX_CHARACTERS), "int32"),
            "token_ids": np.full((0, _LEAST_TOKENS), PADDING_ID, "int32"),
        }
    char_ids, token_ids = (np.asarray(batch[k]) for k in ("char_ids", "token_ids"))
    more = (
        (0, max(0, rows - token_ids.shape[0])),
        (0, max(0, tokens - token_ids.shape[1])),
    )
    return {
        "char_ids": np.pad(char_ids, (*more, (0, 0))),
        "token_ids": np.pad(token_ids, more, constant_values=PADDING_ID),
    }


@dataclasses.dataclass(frozen=True)
class WorkerStatus:
    """What a worker tells the others before a step.

    Attributes:
        has_batch: 0 if its text is at an end.
        epoch: the pass that it is in.
        batch: the batches of that pass it has read, the coming one included.
        words: in the coming batch.
        rows: of the coming batch.
        tokens: positions of its rows.
        stop: a reason to stop; 0 if there is none.
    """

    has_batch: int
    epoch: int
    batch: int
    words: int
    rows: int
    tokens: int
    stop: int

    @classmethod
    def of(
        cls, batch: Batch | None, place: tuple[int, int], stop: int
    ) -> "WorkerStatus":
        if batch is None:
            return cls(0, *place, 0, 0, 0, stop)
        token_ids = np.asarray(batch["token_ids"])
        rows, tokens = token_ids.shape
        # Every row has two boundaries.
        words = int(np.sum(token_ids != PADDING_ID)) - 2 * rows
        return cls(1, *place, words, rows, tokens, stop)


class Devices:
    """One device of this process, on any backend; what the other kinds build on.

    Attributes:
        worker: which of the processes this is.
        num_workers: processes that make the updates together.
        num_replicas: devices of this process that share a batch.
    """

    worker = 0
    num_workers = 1
    num_replicas = 1

    @property
    def is_chief(self) -> bool:
        """Whether this process writes the files."""
        return self.worker == 0

    def scope(self) -> contextlib.AbstractContextManager[Any]:
        """What a model and its optimizer are made in."""
        return contextlib.nullcontext()

    def all_gather(self, status: WorkerStatus) -> list[WorkerStatus]:
        """Tells the other workers; returns what each of them tells."""
        return [status]

    def wait(self) -> None:
        """Returns when every worker has called it."""
        self.all_gather(WorkerStatus.of(None, (0, 0), 0))

    def update(
        self, model: PretrainingModel, batch: Batch | None, statuses: list[WorkerStatus]
    ) -> dict[str, float]:
        """Makes one update by the batches of all workers.

        Args:
            model: compiled, its optimizer built.
            batch: this worker's; `None` if its text is at an end.
            statuses: what `all_gather` returned.

        Returns:
            Means over all predictions: `loss`, `forward_loss`, `backward_loss`; and
            `gradient_norm`.
        """
        logs = model.train_on_batch(batch, return_dict=True)
        return step_metrics(logs, model)

    def restored(self, model: PretrainingModel) -> None:
        """Called when the variables have got their first or restored values."""


def step_metrics(logs: dict[str, Any], model: PretrainingModel) -> dict[str, float]:
    """Returns a step's metrics as numbers."""
    metrics = {name: float(value) for name, value in logs.items()}
    norm = ops.convert_to_numpy(model.optimizer.gradient_norm)
    metrics["gradient_norm"] = float(norm)
    return metrics
