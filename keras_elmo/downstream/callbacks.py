"""Callbacks for training with `ElmoEmbedding`."""

import csv
from itertools import count

import keras

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.utils.checks import check_optional_path
from keras_elmo.utils.files import replacing_text
from keras_elmo.utils.keras_private import inner_layers
from keras_elmo.utils.types import StrPath


class MixWeightsLogger(keras.callbacks.Callback):
    """Records the mix weights of every `ElmoEmbedding` of a model during `fit`.

    A row has the `epoch`, the number of finished epochs, so that the first row is the
    mix before training; and for each `ElmoEmbedding`, also inside of other layers,
    `NAME/layer_0` .. `NAME/layer_L`, which are `softmax(s)`, and `NAME/gamma`. With
    several representations these are `NAME/mix_0/layer_0` and so on.

    Adds the values to the `logs` of the epoch, too, for `History`, the progress bar,
    and callbacks that follow in the list, such as `CSVLogger` or `TensorBoard`.

    Args:
        path: a CSV file to write the rows to after each epoch.

    Attributes:
        rows: the rows of the last `fit`, as dictionaries.

    Raises:
        ValueError: the model has no `ElmoEmbedding`; raised by `fit`.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    char_ids = keras.Input((None, 50), dtype="int32")
    vectors = keras_elmo.ElmoEmbedding(encoder, name="elmo")(char_ids)
    model = keras.Model(char_ids, keras.layers.GlobalAveragePooling1D()(vectors))
    model.compile("sgd", "mse", jit_compile=False)
    logger = keras_elmo.MixWeightsLogger("mix.csv")
    x = np.ones((2, 4, 50), "int32")
    model.fit(x, np.zeros((2, vectors.shape[-1])), callbacks=[logger], verbose=0)
    assert [row["epoch"] for row in logger.rows] == [0, 1]
    np.testing.assert_allclose(logger.rows[0]["elmo/layer_0"], 1 / 3, rtol=1e-5)
    ```
    """

    def __init__(self, path: StrPath | None = None) -> None:
        super().__init__()
        check_optional_path(path=path)
        self.path = path
        self.rows: list[dict[str, float]] = []

    def __repr__(self) -> str:
        return f"MixWeightsLogger(path={self.path!r})"

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        self._embeddings = _find_embeddings(self.model)
        self.rows = []

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        # Only now is the first epoch known, if `fit` has an initial_epoch or
        # BackupAndRestore continues a run.
        if not self.rows:
            self._record(epoch)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        values = self._record(epoch + 1)
        if logs is not None:
            logs.update(values)

    def _record(self, epoch: int) -> dict[str, float]:
        values = {
            f"{name}/{key}": value
            for name, embedding in self._embeddings.items()
            for key, value in _read_mix(embedding).items()
        }
        self.rows.append({"epoch": epoch, **values})
        if self.path is not None:
            with replacing_text(self.path) as file:
                writer = csv.DictWriter(file, self.rows[0], lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.rows)
        return values


def _find_embeddings(model: keras.Model) -> dict[str, ElmoEmbedding]:
    """The layers by unique names, also those inside of other models and layers."""
    embeddings: dict[str, ElmoEmbedding] = {}
    # `model.layers` has the outermost ones alone.
    for layer in inner_layers(model):
        if isinstance(layer, ElmoEmbedding):
            name, numbers = layer.name, count(1)
            # Keras makes names unique within one model only.
            while name in embeddings:
                name = f"{layer.name}_{next(numbers)}"
            embeddings[name] = layer
    if not embeddings:
        raise ValueError(
            "`model` must contain an ElmoEmbedding for MixWeightsLogger. "
            f"Received: model={model}"
        )
    return embeddings


def _read_mix(embedding: ElmoEmbedding) -> dict[str, float]:
    values = {}
    for k, (weights, gamma) in enumerate(embedding.mix_weights):
        prefix = f"mix_{k}/" if embedding.num_representations > 1 else ""
        for j, weight in enumerate(weights):
            values[f"{prefix}layer_{j}"] = float(weight)
        values[f"{prefix}gamma"] = gamma
    return values
