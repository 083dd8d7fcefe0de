"""Character ids to the layers of a biLM."""

from typing import Any

import keras
from keras import ops

from keras_elmo.config import MAX_CHARACTERS, NUM_CHARACTERS, ElmoConfig
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding


@keras.saving.register_keras_serializable("keras_elmo")
class Encoder(keras.Model):
    """A functional model: the character CNN, then the biLM.

    Args:
        config: the sizes.
        trainable: whether the weights are created trainable. Frozen ones stay frozen
            in whatever file the model goes through.
        tokenizer: what cut the training text into words, `"unicode"` or
            `"whitespace"`; `None` if that is not known.
        dtype: dtype policy of every layer.
        **kwargs: `name`.

    Call arguments:
        char_ids: `(batch, tokens + 2, 50)` integers with the sentence boundaries, 0
            where masked.

    Returns:
        List of `num_layers + 1` tensors `(batch, tokens + 2, 2 * projection_units)`.

    Reference: Peters et al. 2018, section 3.
    """

    def __init__(
        self,
        config: ElmoConfig,
        trainable: bool = True,
        tokenizer: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        # === Layers ===
        common = {"trainable": trainable, "dtype": dtype}
        embedding = CharCNNEmbedding(
            filters=config.filters,
            projection_units=config.projection_units,
            num_highway_layers=config.num_highway_layers,
            char_embedding_units=config.char_embedding_units,
            activation=config.activation,
            num_characters=NUM_CHARACTERS,
            name="char_cnn_embedding",
            **common,
        )
        bilm = BiLM(
            units=config.units,
            projection_units=config.projection_units,
            num_layers=config.num_layers,
            cell_clip=config.cell_clip,
            projection_clip=config.projection_clip,
            skip_connections=config.skip_connections,
            dropout=config.dropout,
            name="bilm",
            **common,
        )

        # === Functional model ===
        char_ids = keras.Input((None, MAX_CHARACTERS), dtype="int32", name="char_ids")
        super().__init__(
            inputs=char_ids,
            outputs=bilm(embedding(char_ids)),
            **{"name": "encoder", **kwargs},
        )

        # === Config ===
        self.config = config
        self.tokenizer = tokenizer
        self.created_trainable = trainable
        # As it is now: Keras's global one may change.
        self.layers_dtype = keras.dtype_policies.get(dtype)

    def with_dtype(self, dtype: Any) -> "Encoder":
        """Returns a copy that computes in another type.

        `"bfloat16"` halves the memory and, where the processor multiplies it, saves
        time; cell states and sums stay float32. It is for reading: pretrain in float32.

        Args:
            dtype: dtype policy of every layer.
        """
        copy = Encoder.from_config({**self.get_config(), "dtype": dtype})
        for ours, given in zip(copy.weights, self.weights, strict=True):
            ours.assign(ops.cast(given, ours.dtype))
        return copy

    def get_config(self) -> dict[str, Any]:
        return {
            "options": self.config.to_options(),
            "trainable": self.created_trainable,
            "tokenizer": self.tokenizer,
            "dtype": keras.dtype_policies.serialize(self.layers_dtype),
            "frozen": not self.trainable,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        frozen = config.pop("frozen", False)
        encoder = cls(read_options(config.pop("options")), **config)
        # Set after its creation, it can be undone.
        if frozen:
            encoder.trainable = False
        return encoder


def read_options(options: Any) -> ElmoConfig:
    """Returns the sizes that a model's own config holds.

    Raises:
        ValueError: it is no dictionary, or not of a model that can be.
    """
    # A string would be taken for the path of a file.
    if not isinstance(options, dict):
        raise ValueError(
            f"`options` must be a dictionary. Received: options={options!r}"
        )
    return ElmoConfig.from_options(options)


def build_encoder(config: ElmoConfig, trainable: bool = True, dtype: Any = None) -> Any:
    """Returns an `Encoder` with the published initial weights.

    Args:
        config: the sizes.
        trainable: whether the weights are created trainable.
        dtype: dtype policy of every layer; Keras's global one if `None`.
    """
    return Encoder(config, trainable=trainable, dtype=dtype)
