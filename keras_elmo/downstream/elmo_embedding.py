"""ELMo as a layer of a downstream Keras model."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.config import TOKENIZER_IF_UNKNOWN
from keras_elmo.downstream.inputs import (
    are_layers,
    check_ids,
    make_char_ids,
)
from keras_elmo.downstream.token_mask import CharacterMask
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source
from keras_elmo.layers.scalar_mix import ScalarMix, get_regularizer
from keras_elmo.models.encoder import Encoder, copy_weights
from keras_elmo.text.string_layer import StringsFirst, are_strings
from keras_elmo.utils.checks import check_at_least, check_boolean, check_rate
from keras_elmo.utils.forks import check_not_forked
from keras_elmo.utils.keras_classes import freeze_layers, frozen_layers, keras_class
from keras_elmo.utils.one_graph import OneGraph
from keras_elmo.utils.types import Config, Shape, Tensor


@keras_class
class ElmoEmbedding(StringsFirst, keras.layers.Layer):
    """Turns text into word vectors: a biLM's layers, mixed with learned weights.

    `ELMo_k = gamma * sum_j softmax(s)_j h_(k,j)`.

    The layer holds a copy of the encoder. A `.keras` file of a model with this layer
    needs no other file.

    Args:
        encoder: an `Encoder`, a name or path as for `load`, or another layer. Each mix
            starts as the model's mix, if it has one.
        num_representations: number of separate mixes of the same layers.
        dropout: rate, on the result, during training.
        layer_norm: see `ScalarMix`; `None` keeps what the model's mix has, if any.
        mix_regularizer: for the weights `s`, such as `keras.regularizers.L2(0.001)`.
        keep_boundaries: whether to keep the vectors of the sentence boundaries.
        trainable_encoder: whether to fine-tune the biLM; otherwise it is frozen and no
            gradient reaches it. To change it, set `trainable` of the layer, of its
            `encoder` or of layers inside, and compile the model again.
        **kwargs: arguments of `keras.layers.Layer`. `dtype` is the policy of the
            encoder, too: by default the encoder's own if that is not float32, else
            Keras's global one.

    Call arguments:
        inputs: text, `(batch,)` strings, which are split as the training text was;
            words, `(batch, tokens)` strings padded with `""`, even if there is one
            column; `(batch, tokens + 2, ids_per_token)` integers, from `CharacterIds`;
            or `(batch, *layers_shape)` numbers, the layers from `precompute`. Strings
            need the TensorFlow backend; on another one, `char_ids` makes ids of them.
        training: whether dropout is applied.

    Returns:
        `(batch, tokens, 2 * projection_units)` float32 tensor, 0 in masked positions,
        or a list of `num_representations` of them if there are several. With
        `keep_boundaries=True`, `tokens + 2` positions.

    Masking: creates the mask `(batch, tokens)` of the positions that hold a token. A
    sentence without tokens keeps its first position, whose vector is 0, because Keras's
    pooling layers divide by the number of unmasked positions.

    Raises:
        TypeError: `encoder` is no model.
        ValueError: `num_representations` is not positive, there is no such model, or
            the inputs have another rank.
        RuntimeError: the inputs are strings, and Keras does not run on TensorFlow.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    text = keras.Input((), dtype="string")
    vectors = keras_elmo.ElmoEmbedding(encoder)(text)
    pooled = keras.layers.GlobalAveragePooling1D()(vectors)
    model = keras.Model(text, keras.layers.Dense(1, activation="sigmoid")(pooled))
    assert model(tf.constant(["By the river.", "At the bank."])).shape == (2, 1)
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, sections
    3.2 and 3.3.
    """

    def __init__(
        self,
        encoder: Source,
        num_representations: int = 1,
        dropout: float = 0.0,
        layer_norm: bool | None = None,
        mix_regularizer: str | keras.regularizers.Regularizer | None = None,
        keep_boundaries: bool = False,
        trainable_encoder: bool = False,
        **kwargs: object,
    ) -> None:
        # Set last, on all that is made here.
        trainable = kwargs.pop("trainable", True)
        check_at_least(1, num_representations=num_representations)
        check_rate(dropout=dropout)
        check_boolean(trainable_encoder=trainable_encoder)
        source = open_model(encoder, "encoder")
        source_encoder = source.keras_encoder()
        stored = source.mix()
        if layer_norm is None:
            layer_norm = stored is not None and stored[2]
        policy = source_encoder.layers_dtype
        if kwargs.get("dtype") is None and policy.name != "float32":
            kwargs["dtype"] = policy
        super().__init__(**kwargs)
        self.num_representations = num_representations
        self.dropout = dropout
        self.layer_norm = layer_norm
        self.mix_regularizer = get_regularizer(mix_regularizer=mix_regularizer)
        self.keep_boundaries = keep_boundaries
        # A copy, which can be frozen without freezing the source.
        self.encoder = Encoder(
            source_encoder.config,
            trainable=trainable_encoder,
            tokenizer=source_encoder.tokenizer,
            dtype=self.dtype_policy,
        )
        copy_weights(source_encoder, self.encoder)
        config, regularizer = source_encoder.config, self.mix_regularizer
        self.mixes = [
            # A handful of numbers that scale everything.
            ScalarMix(layer_norm, regularizer, name=f"mix_{k}", dtype="float32")
            for k in range(num_representations)
        ]
        layer = (None, None, 2 * config.projection_units)
        for mix in self.mixes:
            mix.build([layer] * (config.num_layers + 1))
            if stored is not None:
                mix.scalars.assign(stored[0])
                mix.gamma.assign(stored[1])
        self.output_dropout = keras.layers.Dropout(dropout, dtype="float32")
        self._mask = CharacterMask(keep_boundaries)
        shape = (None, None, source_encoder.config.ids_per_token)
        self._encode = OneGraph(self._encoded, shape)
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.supports_masking = True
        # Set to True it would unfreeze the encoder.
        if not trainable:
            self.trainable = False

    @classmethod
    def from_saved_model(cls, path: Source, **kwargs: Any) -> "ElmoEmbedding":
        """Builds the layer of a model: `ElmoEmbedding(path, **kwargs)`.

        Args:
            path: a model, as `encoder` is.
            **kwargs: arguments of `ElmoEmbedding` but `encoder`.
        """
        return cls(open_model(path, "path"), **kwargs)

    # Of ids and of layers; numbers are not cast to the policy of the encoder.
    _dtype_without_strings = input_dtype = "float32"
    _alternative = "the ids, with its method `char_ids`,"

    def __call__(self, inputs: Tensor, *args: object, **kwargs: object) -> Tensor:
        check_not_forked(keras.backend.backend())
        return super().__call__(self._numbers(inputs), *args, **kwargs)

    def _numbers(self, inputs: Tensor) -> Tensor:
        """Returns the layers of `precompute` as they are, and all else as ids."""
        if are_strings(inputs):
            self._require_tensorflow_backend()
        if are_layers(inputs, self.layers_shape):
            return inputs
        return self.char_ids(inputs)

    def char_ids(self, inputs: Tensor) -> Tensor:
        """Returns character ids, on any backend, and in `tf.data.Dataset.map`.

        TensorFlow has to be installed.

        Args:
            inputs: text, words, or ids.

        Returns:
            `(batch, tokens + 2, ids_per_token)` integers.
        """
        if not are_strings(inputs):
            return check_ids(inputs, self.encoder.config.ids_per_token)
        kind = self.encoder.tokenizer or TOKENIZER_IF_UNKNOWN
        ids = make_char_ids(inputs, kind, self.encoder.config.token_vocabulary)
        if keras.backend.backend() != "tensorflow" and hasattr(ids, "numpy"):
            return ids.numpy()
        return ids

    @property
    def layers_shape(self) -> tuple[int, None, int]:
        """The shape of a sentence's layers, `(num_layers + 1, None, units)`.

        `None` stands for the number of tokens, with the boundaries if they are kept.
        """
        config = self.encoder.config
        return config.num_layers + 1, None, 2 * config.projection_units

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        # `keras.layers.TimeDistributed` calls no other method.
        inputs = self._numbers(inputs)
        layers = self.token_layers(inputs, training)
        representations = [
            self.output_dropout(self.mixed(layers, inputs, k), training=training)
            for k in range(self.num_representations)
        ]
        return self._one_or_all(representations)

    def _one_or_all(self, values: list[Tensor]) -> Tensor:
        return values if self.num_representations > 1 else values[0]

    def token_layers(
        self, inputs: Tensor, training: bool | None = None
    ) -> list[Tensor]:
        """Returns the layers of the biLM at the positions of the result."""
        if len(inputs.shape) == 4:
            return ops.unstack(inputs, self.layers_shape[0], axis=1)
        shape = (*self._mask.output_shape(inputs.shape), self.layers_shape[-1])
        # A graph keeps the gradients of the weights that were trained.
        trained = tuple(weight.trainable for weight in self.encoder.weights)
        if any(trained):
            return self._encode(inputs, shape, bool(training), trained)
        layers = self._encode(inputs, shape, False, trained)
        return [ops.stop_gradient(layer) for layer in layers]

    def _encoded(
        self, inputs: Tensor, training: bool, trained: tuple[bool, ...]
    ) -> list[Tensor]:
        layers = self.encoder(inputs, training=training)
        if not self.keep_boundaries:
            layers = [layer[:, 1:-1] for layer in layers]
        # The last boundary of a short sentence lies inside the row.
        kept = ops.cast(self._mask.tokens(inputs), layers[0].dtype)
        kept = ops.expand_dims(kept, -1)
        return [layer * kept for layer in layers]

    def mixed(self, layers: list[Tensor], inputs: Tensor, k: int = 0) -> Tensor:
        """Returns mix `k` of what `token_layers` returned."""
        mask = self._mask.tokens(inputs)
        mix = self.mixes[k](layers, mask=mask)
        return mix * ops.expand_dims(ops.cast(mask, mix.dtype), -1)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor = None) -> Tensor:
        mask = self._mask(inputs)
        return self._one_or_all([mask] * self.num_representations)

    def compute_output_spec(
        self, inputs: Tensor, training: bool | None = None
    ) -> Tensor:
        shape = (*self._mask.output_shape(inputs.shape), self.layers_shape[-1])
        tensors = [keras.KerasTensor(shape, "float32") for _ in self.mixes]
        return self._one_or_all(tensors)

    # Named as by Keras, whose `summary` passes what it has built the layer with.
    def compute_output_shape(self, input_shape: Shape) -> Shape | list[Shape]:
        shape = (*self._mask.output_shape(input_shape), self.layers_shape[-1])
        return self._one_or_all([shape] * self.num_representations)

    @property
    def trainable_encoder(self) -> bool:
        """Whether any of the biLM is trained."""
        return any(weight.trainable for weight in self.encoder.weights)

    @property
    def mix_weights(self) -> list[tuple[np.ndarray, float]]:
        """For each representation `softmax(s)`, one weight per layer, and `gamma`."""
        to_numpy = ops.convert_to_numpy
        return [
            (to_numpy(mix.layer_weights), float(to_numpy(mix.gamma)))
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
            "frozen_layers": frozen_layers(self),
        }

    @classmethod
    def from_config(cls, config: Config) -> "ElmoEmbedding":
        config = dict(config)
        encoder = Encoder.from_config(config.pop("encoder"))
        frozen = config.pop("frozen_layers")
        layer = cls(encoder, **config)
        freeze_layers(layer, frozen)
        return layer
