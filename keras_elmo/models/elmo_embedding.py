"""ELMo as a layer of a downstream Keras model."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.models.encoder import Encoder, copy_weights
from keras_elmo.models.token_mask import keep_first_of_empty
from keras_elmo.utils.checks import check_positive
from keras_elmo.utils.lazy import provided
from keras_elmo.utils.types import Config, StrPath, Tensor


@keras.saving.register_keras_serializable("keras_elmo")
class ElmoEmbedding(keras.layers.Layer):
    """Contextual word vectors: a biLM's layers, mixed with weights that a task learns.

    `ELMo_k = gamma * sum_j softmax(s)_j h_(k,j)`.

    The layer holds a copy of the encoder. A `.keras` file of a model with this layer
    needs no other file.

    Args:
        encoder: the biLM: an `Encoder`, or a name or path as of `load`, or another
            layer, of which the encoder alone is taken.
        num_representations: number of separate mixes of the same biLM layers.
        dropout: rate, on the result, while training.
        layer_norm: see `ScalarMix`.
        mix_regularizer: of the raw weights `s`, such as `keras.regularizers.L2(0.001)`.
        keep_boundaries: whether the vectors of the sentence boundaries are kept.
        trainable_encoder: whether the biLM is fine-tuned; otherwise it is frozen and
            no gradient reaches it.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        char_ids: `(batch, tokens + 2, 50)` integers, from `CharacterIds`.
        training: whether dropout is applied.

    Returns:
        `(batch, tokens, 2 * projection_units)` float32 tensor, 0 in masked positions,
        or a list of `num_representations` of them if there are several. With
        `keep_boundaries=True`, `tokens + 2` positions.

    Masking: creates the mask `(batch, tokens)` of the positions that hold a token. A
    sentence without any keeps its first position, whose vector is 0, because Keras's
    pooling layers divide by the number of unmasked positions.

    Raises:
        TypeError: `encoder` is something else.
        ValueError: `num_representations` is not positive, or there is no such model.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    text = keras.Input((), dtype="string")
    tokens = keras_elmo.Tokenizer()(text)
    vectors = keras_elmo.ElmoEmbedding(encoder)(keras_elmo.CharacterIds()(tokens))
    pooled = keras.layers.GlobalAveragePooling1D()(vectors)
    model = keras.Model(text, keras.layers.Dense(1, activation="sigmoid")(pooled))
    assert model(tf.constant(["By the river.", "At the bank."])).shape == (2, 1)
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, sections
    3.2 and 3.3.
    """

    def __init__(
        self,
        encoder: "Encoder | ElmoEmbedding | StrPath",
        num_representations: int = 1,
        dropout: float = 0.0,
        layer_norm: bool = False,
        mix_regularizer: str | keras.regularizers.Regularizer | None = None,
        keep_boundaries: bool = False,
        trainable_encoder: bool = False,
        **kwargs: object,
    ) -> None:
        # Set last: while it is False, Keras would create every weight frozen.
        trainable = kwargs.pop("trainable", True)
        super().__init__(**kwargs)
        check_positive(num_representations=num_representations)
        given: Encoder = provided("load")(encoder)
        self.num_representations = num_representations
        self.dropout = dropout
        self.layer_norm = layer_norm
        self.mix_regularizer = keras.regularizers.get(mix_regularizer)
        self.keep_boundaries = keep_boundaries
        self.trainable_encoder = trainable_encoder
        # A new encoder, because weights stay frozen in a SavedModel only if they are
        # created so.
        self.encoder = Encoder(
            given.config,
            trainable=trainable_encoder,
            tokenizer=given.tokenizer,
            dtype=given.layers_dtype,
        )
        copy_weights(given, self.encoder)
        self.mixes = [
            ScalarMix(
                layer_norm=layer_norm,
                regularizer=self.mix_regularizer,
                name=f"mix_{k}",
                # A handful of numbers that scale everything.
                dtype="float32",
            )
            for k in range(num_representations)
        ]
        layer = (None, None, 2 * given.config.projection_units)
        for mix in self.mixes:
            mix.build([layer] * (given.config.num_layers + 1))
        self.output_dropout = keras.layers.Dropout(dropout, dtype="float32")
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.supports_masking = True
        self.trainable = trainable

    @classmethod
    def from_saved_model(
        cls, path: "Encoder | ElmoEmbedding | StrPath", **kwargs: Any
    ) -> "ElmoEmbedding":
        """Builds the layer of a model together with its mix.

        All weights are copied: the folder is not needed afterwards. Each mix begins as
        that of the exported model, or of the layer; as a new one, if there is none.

        Args:
            path: the folder that `export_saved_model` wrote, or another model as of
                `ElmoEmbedding`.
            **kwargs: arguments of `ElmoEmbedding` but `encoder`.

        Raises:
            TypeError: `path` is no model.
            ValueError: there is no such model.
        """
        return provided("load_embedding")(path, cls, **kwargs)

    def call(self, char_ids: Tensor, training: bool | None = None) -> Tensor:
        layers = self.token_layers(char_ids, training)
        representations = [
            self.output_dropout(self.mixed(layers, char_ids, k), training=training)
            for k in range(self.num_representations)
        ]
        return self._one_or_all(representations)

    def _one_or_all(self, values: list[Tensor]) -> Tensor:
        return values if self.num_representations > 1 else values[0]

    def token_layers(
        self, char_ids: Tensor, training: bool | None = None
    ) -> list[Tensor]:
        """Returns the layers of the biLM at the positions of the result."""
        # A frozen biLM is a function of the sentence alone: no dropout inside it.
        training = bool(training and self.trainable_encoder)
        layers = self.encoder(char_ids, training=training)
        if not self.trainable_encoder:
            layers = [ops.stop_gradient(layer) for layer in layers]
        if not self.keep_boundaries:
            layers = [layer[:, 1:-1] for layer in layers]
        # The last boundary of a short sentence lies inside the row.
        kept = ops.cast(self._token_mask(char_ids), layers[0].dtype)
        kept = ops.expand_dims(kept, -1)
        return [layer * kept for layer in layers]

    def mixed(self, layers: list[Tensor], char_ids: Tensor, k: int = 0) -> Tensor:
        """Returns mix `k` of what `token_layers` returned."""
        mask = self._token_mask(char_ids)
        mix = self.mixes[k](layers, mask=mask)
        return mix * ops.expand_dims(ops.cast(mask, mix.dtype), -1)

    def _token_mask(self, char_ids: Tensor) -> Tensor:
        valid = ops.greater(char_ids[..., 0], 0)
        # A position holds a token where the one after it is valid: that leaves out
        # both boundaries and the padding.
        return valid if self.keep_boundaries else valid[:, 2:]

    def compute_mask(self, char_ids: Tensor, previous_mask: Tensor = None) -> Tensor:
        mask = keep_first_of_empty(self._token_mask(char_ids))
        return self._one_or_all([mask] * self.num_representations)

    def compute_output_spec(
        self, char_ids: Tensor, training: bool | None = None
    ) -> Tensor:
        batch, tokens, _ = char_ids.shape
        if tokens is not None and not self.keep_boundaries:
            tokens -= 2
        shape = (batch, tokens, 2 * self.encoder.config.projection_units)
        specs = [
            keras.KerasTensor(shape, "float32") for _ in range(self.num_representations)
        ]
        return self._one_or_all(specs)

    @property
    def mix_weights(self) -> list[tuple[np.ndarray, float]]:
        """For each representation `softmax(s)`, one element a layer, and `gamma`."""
        return [
            (
                ops.convert_to_numpy(mix.layer_weights),
                float(ops.convert_to_numpy(mix.gamma)),
            )
            for mix in self.mixes
        ]

    def get_config(self) -> Config:
        return {
            **super().get_config(),
            "encoder": self.encoder.get_config(),
            "num_representations": self.num_representations,
            "dropout": self.dropout,
            "layer_norm": self.layer_norm,
            "mix_regularizer": keras.regularizers.serialize(self.mix_regularizer),
            "keep_boundaries": self.keep_boundaries,
            "trainable_encoder": self.trainable_encoder,
        }

    @classmethod
    def from_config(cls, config: Config) -> "ElmoEmbedding":
        config = dict(config)
        return cls(Encoder.from_config(config.pop("encoder")), **config)
