"""Character ids to the layers of a biLM."""

import keras
import numpy as np
from keras import ops

from keras_elmo.config import (
    NUM_CHARACTERS,
    TOKENIZERS,
    ElmoConfig,
    read_options,
)
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.layers.vocabulary_embedding import VocabularyEmbedding
from keras_elmo.utils.bfloat16 import warn_if_slow
from keras_elmo.utils.checks import check_choice, check_type
from keras_elmo.utils.forks import check_not_forked
from keras_elmo.utils.keras_classes import freeze_layers, frozen_layers, keras_class
from keras_elmo.utils.types import Config, DType, Tensor


@keras_class
class Encoder(keras.Model):
    """A pretrained or new biLM with its token embedding, as a functional model.

    Args:
        config: the sizes.
        trainable: whether the model is trained, at first. Set `trainable` of it, or of
            layers inside of it, to freeze and unfreeze them; files keep that.
        tokenizer: the kind of `Tokenizer` of the training text; `None` if it is not
            known.
        dtype: dtype policy of every layer.
        **kwargs: `name`.

    Call arguments:
        char_ids: `(batch, tokens + 2, ids)` integers, `config.ids_per_token` for each
            token, with the sentence boundaries; 0 where masked.

    Returns:
        List of `num_layers + 1` tensors `(batch, tokens + 2, 2 * projection_units)`.

    Example:

    ```python
    encoder = keras_elmo.Encoder(keras_elmo.ElmoConfig.preset("tiny"))
    char_ids = keras_elmo.CharacterIds()([["by", "the", "river"]])
    layers = encoder(char_ids)
    # Five positions: the words, the beginning and the end of the sentence.
    units = 2 * encoder.config.projection_units
    assert [layer.shape for layer in layers] == [(1, 5, units)] * 3
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, section 3.
    """

    def __init__(
        self,
        config: ElmoConfig,
        trainable: bool = True,
        tokenizer: str | None = None,
        dtype: DType = None,
        **kwargs: object,
    ) -> None:
        check_not_forked(keras.backend.backend())
        check_type(ElmoConfig, "an ElmoConfig", config=config)
        check_choice((*TOKENIZERS, None), tokenizer=tokenizer)
        # === Layers ===
        embedding = _token_embedding(config, dtype)
        bilm = BiLM(
            units=config.units,
            projection_units=config.projection_units,
            num_layers=config.num_layers,
            cell_clip=config.cell_clip,
            projection_clip=config.projection_clip,
            skip_connections=config.skip_connections,
            dropout=config.dropout,
            name="bilm",
            dtype=dtype,
        )

        # === Functional model ===
        char_ids = keras.Input(
            (None, config.ids_per_token), dtype="int32", name="char_ids"
        )
        super().__init__(
            inputs=char_ids,
            outputs=bilm(embedding(char_ids)),
            **{"name": "encoder", **kwargs},
        )

        # === Config ===
        self.config = config
        self._tokenizer = tokenizer
        # As it is now: Keras's global one may change.
        self.layers_dtype = keras.dtype_policies.get(dtype)
        warn_if_slow(self.layers_dtype)
        self.dtype_policy = self.layers_dtype
        if not trainable:
            self.trainable = False

    def __repr__(self) -> str:
        return (
            f"Encoder({self.config.num_layers + 1} layers of "
            f"{2 * self.config.projection_units} units, {self.count_params():,} "
            f"weights, tokenizer={self.tokenizer!r})"
        )

    def call(
        self,
        inputs: Tensor,
        training: bool | None = None,
        mask: Tensor = None,
        **kwargs: object,
    ) -> list[Tensor]:
        check_not_forked(keras.backend.backend())
        check_char_ids(inputs)
        return super().call(inputs, training, mask, **kwargs)

    def of_distinct_words(
        self, words: Tensor, positions: Tensor, training: bool | None = None
    ) -> list[Tensor]:
        """Encodes a batch that lists each of its words once.

        Args:
            words: `(words, ids)` integers; the first word is the masked one.
            positions: `(batch, tokens)` integers, the place of each word among these.
            training: whether dropout is applied.

        Returns:
            What a call on `words[positions]` returns.
        """
        embedding, bilm = self.layers[1:]
        vectors = embedding(words[None])[0]
        # The gradient of a frequent word's vector is a sum, too long for bfloat16.
        vectors = ops.take(ops.cast(vectors, "float32"), positions, axis=0)
        vectors = ops.cast(vectors, embedding.compute_dtype)
        return bilm(vectors, mask=positions > 0, training=training)

    @property
    def tokenizer(self) -> str | None:
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: str | None) -> None:
        check_choice((*TOKENIZERS, None), tokenizer=tokenizer)
        self._tokenizer = tokenizer

    @property
    def token_embedding(self) -> TokenEmbedding:
        """The layer that embeds tokens without their context."""
        return self.layers[1]

    def with_dtype(self, dtype: DType) -> "Encoder":
        """Returns a copy that computes in another type.

        `"bfloat16"` halves the memory and, on a processor that multiplies it, saves
        time; on another one it takes several times as long, with a warning. Cell states
        and sums stay float32. Use it for inference: pretrain in float32.

        Args:
            dtype: dtype policy of every layer.
        """
        copy = Encoder.from_config({**self.get_config(), "dtype": dtype})
        copy_weights(self, copy)
        return copy

    def get_config(self) -> Config:
        return {
            "options": self.config.to_options(),
            "trainable": self.trainable,
            "frozen_layers": frozen_layers(self),
            "tokenizer": self.tokenizer,
            "dtype": keras.dtype_policies.serialize(self.layers_dtype),
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config: Config, custom_objects: object = None) -> "Encoder":
        config = dict(config)
        frozen = config.pop("frozen_layers", ())
        options = read_options(config.pop("options"), "a saved model")
        encoder = cls(options, **config)
        freeze_layers(encoder, frozen)
        return encoder


def _token_embedding(config: ElmoConfig, dtype: DType) -> TokenEmbedding:
    """Returns the layer that the tokens of a model are given to."""
    sizes = {
        "filters": config.filters,
        "projection_units": config.projection_units,
        "num_highway_layers": config.num_highway_layers,
        "char_embedding_units": config.char_embedding_units,
        "activation": config.activation,
        "dtype": dtype,
    }
    vocabulary = config.token_vocabulary
    if vocabulary is None:
        return CharCNNEmbedding(
            num_characters=NUM_CHARACTERS, name="char_cnn_embedding", **sizes
        )
    return VocabularyEmbedding(
        num_words=len(vocabulary.words),
        word_embedding_units=config.word_embedding_units,
        num_characters=len(vocabulary.characters),
        name="vocabulary_embedding",
        **sizes,
    )


def check_char_ids(char_ids: Tensor) -> None:
    """Checks ids, if their values are known, in the memory of the processor.

    A graph that is traced knows none, and to copy them from an accelerator would hold
    it up.

    For negative ids Keras would take the last rows of a table. A masked position cuts
    off what follows: `keras.utils.pad_sequences` pads in front by default.
    """
    try:
        if "cpu" not in str(getattr(char_ids, "device", "cpu")).lower():
            return
        values = ops.convert_to_numpy(char_ids)
    except (NotImplementedError, TypeError):
        return
    least = np.min(values, initial=0)
    if least < 0:
        raise ValueError(
            "`char_ids` must not be negative, 0 is a masked position. "
            f"Received: char_ids with {least}"
        )
    valid = values[..., 0] > 0
    wrong = np.flatnonzero((valid[:, 1:] & ~valid[:, :-1]).any(axis=1))
    if wrong.size:
        raise ValueError(
            "`char_ids` must be padded with 0 at the end of a row. "
            f"Received: char_ids with 0 before other ids, in row {wrong[0]}"
        )


def copy_weights(source: keras.Model, target: keras.Model) -> None:
    """Copies all weights to a model of the same sizes, whatever its types are."""
    for new, old in zip(target.weights, source.weights, strict=True):
        # A cast to the same dtype shares memory, which `fit` on JAX gives away.
        new.assign(ops.copy(ops.cast(old, new.dtype)))


def build_encoder(
    config: ElmoConfig, trainable: bool = True, dtype: DType = None
) -> Encoder:
    """Returns a new `Encoder`, initialized as the published models were.

    Args:
        config: the sizes.
        trainable: whether the model is trained, at first.
        dtype: dtype policy of every layer; Keras's global one if `None`.

    Returns:
        An `Encoder`.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    elmo = keras_elmo.ElmoEmbedding(encoder)
    vectors = elmo(keras_elmo.CharacterIds()([["by", "the", "river"]]))
    assert vectors.shape == (1, 3, 2 * encoder.config.projection_units)
    ```
    """
    return Encoder(config, trainable=trainable, dtype=dtype)
