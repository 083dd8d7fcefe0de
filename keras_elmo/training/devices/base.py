"""Batches as several devices need them."""

import contextlib
import dataclasses
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.training.data import Batch

# What no row has fewer of: its two boundaries.
_LEAST_TOKENS = 2


def shared_out(batch: Batch | None, parts: int) -> list[Batch]:
    """Returns batches of every so many rows, padded to the same number.

    Rows of like length follow each other, so each part gets its share of the long
    ones.
    """
    rows = 0 if batch is None else len(batch["token_ids"])
    # At least one each: what a device multiplies must not be empty.
    padded_rows = parts * max(1, -(-rows // parts))
    whole = padded(batch, padded_rows)
    return [
        {name: value[part::parts] for name, value in whole.items()}
        for part in range(parts)
    ]


def padded(batch: Batch | None, rows: int, tokens: int = _LEAST_TOKENS) -> Batch:
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
class Standing:
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
    def of(cls, batch: Batch | None, place: tuple[int, int], stop: int) -> "Standing":
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

    def agree(self, standing: Standing) -> list[Standing]:
        """Tells the other workers; returns what each of them tells."""
        return [standing]

    def wait(self) -> None:
        """Returns when every worker has called it."""
        self.agree(Standing.of(None, (0, 0), 0))

    def update(
        self, model: PretrainingModel, batch: Batch | None, together: list[Standing]
    ) -> dict[str, float]:
        """Makes one update by the batches of all workers.

        Args:
            model: compiled, its optimizer built.
            batch: this worker's; `None` if its text is at an end.
            together: what `agree` returned.

        Returns:
            Means over all predictions: `loss`, `forward_loss`, `backward_loss`; and
            `gradient_norm`.
        """
        logs = model.train_on_batch(batch, return_dict=True)
        return figures_of(logs, model)

    def restored(self, model: PretrainingModel) -> None:
        """Called when the variables have got their first or restored values."""


def figures_of(logs: dict[str, Any], model: PretrainingModel) -> dict[str, float]:
    """Returns a step's figures as numbers."""
    figures = {name: float(value) for name, value in logs.items()}
    norm = ops.convert_to_numpy(model.optimizer.gradient_norm)
    figures["gradient_norm"] = float(norm)
    return figures


def choose_devices(count: int | None = None) -> Devices:
    """Returns where to compute, as the environment and the user say.

    Several processes: those of `TF_CONFIG` on TensorFlow, of
    `KERAS_DISTRIBUTION_JOB_ADDRESSES`, `_NUM_PROCESSES` and `_PROCESS_ID` on JAX. It
    has to be called before anything else is computed.

    Args:
        count: devices of this process. `None`: all GPUs, or the CPU. With more than
            one and no GPU, so many devices are made of the CPU, which shows that all
            is well and gains nothing.

    Raises:
        ValueError: there are fewer GPUs, or the backend has no such thing.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        from keras_elmo.training.devices.tensorflow import choose_tensorflow_devices

        return choose_tensorflow_devices(count)
    if backend == "jax":
        from keras_elmo.training.devices.jax import choose_jax_devices

        return choose_jax_devices(count)
    if count is not None and count > 1:
        raise ValueError(
            f"`devices` must be 1 on the {backend} backend. Received: devices={count}"
        )
    return Devices()
