"""What a task makes of the biLM's layers, epoch by epoch."""

import csv
import os
from itertools import count
from typing import Any

import keras

from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.utils.files import replacing


class MixWeightsLogger(keras.callbacks.Callback):
    """Records the mix of every `ElmoEmbedding` in a model that is fitted.

    A row has the `epoch`, counted as those that are done, so that the first row is the
    mix before training; and for each of the layers, wherever in the model it is,
    `NAME/layer_0` .. `NAME/layer_L`, which are `softmax(s)`, and `NAME/gamma`. Of
    several representations, the first is `NAME/mix_0/layer_0` and so on.

    After an epoch the same values stand in its `logs`, for the callbacks that come
    later: `History` and the progress bar, and a `CSVLogger` or `TensorBoard` that
    stands behind this one in the list.

    Args:
        path: a CSV file of the rows, written anew after each epoch.

    Attributes:
        rows: the rows of the last `fit`, as dictionaries.

    Raises:
        ValueError: the model has no `ElmoEmbedding`; raised by `fit`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__()
        self.path = path
        self.rows: list[dict[str, float]] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._embeddings = _embeddings_of(self.model)
        self.rows = []

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        # Not when training begins: only now is it known where a `fit` with an
        # initial_epoch, or one that BackupAndRestore continues, goes on.
        if not self.rows:
            self._record(epoch)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        values = self._record(epoch + 1)
        if logs is not None:
            logs.update(values)

    def _record(self, epoch: int) -> dict[str, float]:
        values = {
            f"{name}/{key}": value
            for name, embedding in self._embeddings.items()
            for key, value in _values_of(embedding).items()
        }
        self.rows.append({"epoch": epoch, **values})
        if self.path is not None:
            with replacing(self.path) as temporary:
                with open(temporary, "w", encoding="utf-8", newline="") as file:
                    writer = csv.DictWriter(file, self.rows[0], lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(self.rows)
        return values


def _embeddings_of(model: keras.Model) -> dict[str, ElmoEmbedding]:
    """The layers by name, also those inside of other models and layers."""
    found: dict[str, ElmoEmbedding] = {}
    # `model.layers` has the outermost ones alone.
    for layer in model._flatten_layers():
        if isinstance(layer, ElmoEmbedding):
            name, numbers = layer.name, count(1)
            # Names are unique within one model, not across those inside of it.
            while name in found:
                name = f"{layer.name}_{next(numbers)}"
            found[name] = layer
    if not found:
        raise ValueError(
            "`model` must contain an ElmoEmbedding for MixWeightsLogger. "
            f"Received: model={model}"
        )
    return found


def _values_of(embedding: ElmoEmbedding) -> dict[str, float]:
    values = {}
    for k, (shares, gamma) in enumerate(embedding.mix_weights):
        prefix = f"mix_{k}/" if embedding.num_representations > 1 else ""
        for j, share in enumerate(shares):
            values[f"{prefix}layer_{j}"] = float(share)
        values[f"{prefix}gamma"] = gamma
    return values
