"""The language model of pretraining: an encoder and a head with the loss."""

from collections.abc import Callable

import keras
from keras import ops

from keras_elmo.config import ElmoConfig
from keras_elmo.layers.freezing import freeze_layers, frozen_layers
from keras_elmo.layers.sampled_softmax import SampledSoftmax
from keras_elmo.models.encoder import Encoder, read_options
from keras_elmo.text.vocabulary import PADDING_ID, Vocabulary
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Config, DType, Shape, Tensor


def mean_over_replicas(value: Tensor) -> Tensor:
    """Returns the mean over the replicas of a `tf.distribute` strategy, if any.

    On JAX an array is that of all devices already.
    """
    if keras.backend.backend() != "tensorflow":
        return value
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return value
    return context.all_reduce(tf.distribute.ReduceOp.MEAN, value)


@keras.saving.register_keras_serializable("keras_elmo")
class LanguageModelHead(keras.layers.Layer):
    """Predicts each token's neighbours and adds the loss to the model.

    The forward half of position k predicts token k + 1, the backward half of k + 1
    predicts token k; both with one softmax. The loss is the mean over both directions
    of the mean negative log likelihood.

    Args:
        vocabulary_size: number of target ids.
        num_sampled: candidates of the sampled softmax.
        dropout: rate, on the biLM's output, while training.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        top: `(batch, tokens, 2 * projection_units)`, the biLM's last layer.
        token_ids: `(batch, tokens)` integers, -1 where masked.
        training: whether to sample and to apply dropout.

    Returns:
        Dictionary of `forward` and `backward`: `(batch, tokens - 1)` negative log
        likelihoods in nats, 0 where nothing is predicted. Element k of `forward` is of
        token k + 1, element k of `backward` of token k.

    Reference: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self,
        vocabulary_size: int,
        num_sampled: int = 8192,
        dropout: float = 0.0,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.num_sampled = num_sampled
        self.dropout = dropout
        self.supports_masking = True
        self.output_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.softmax = SampledSoftmax(
            vocabulary_size, num_sampled, name="softmax", dtype=self.dtype_policy
        )

    def build(self, top_shape: tuple[int, ...], token_ids_shape: Shape) -> None:
        self.softmax.build((None, top_shape[-1] // 2))

    def call(
        self, top: Tensor, token_ids: Tensor, training: bool | None = None
    ) -> dict[str, Tensor]:
        top = self.output_dropout(top, training=training)
        units = top.shape[-1] // 2
        predicted = _predicted(token_ids)
        targets = ops.maximum(token_ids, 0)
        # The directions are two halves of one batch, with the same candidates.
        losses = self.softmax(
            ops.concatenate([top[:, :-1, :units], top[:, 1:, units:]], axis=0),
            ops.concatenate([targets[:, 1:], targets[:, :-1]], axis=0),
            training=training,
        )
        losses = losses * ops.concatenate([predicted, predicted], axis=0)
        # Keras divides the loss by the replicas, whose counts may differ.
        count = ops.maximum(mean_over_replicas(ops.sum(predicted)), 1.0)
        self.add_loss(ops.sum(losses) / (2 * count))
        batch = ops.shape(token_ids)[0]
        return {"forward": losses[:batch], "backward": losses[batch:]}

    def compute_mask(self, *inputs: Tensor, **previous: Tensor) -> None:
        # The target ids tell the padding; the axes of the result are no tokens.
        return None

    def compute_output_spec(
        self, top: Tensor, token_ids: Tensor, training: bool | None = None
    ) -> dict[str, Tensor]:
        shapes = self.compute_output_shape(top.shape, token_ids.shape)
        return {
            name: keras.KerasTensor(shape, "float32") for name, shape in shapes.items()
        }

    def compute_output_shape(
        self, top_shape: Shape, token_ids_shape: Shape
    ) -> dict[str, Shape]:
        batch, tokens = token_ids_shape
        shape = (batch, None if tokens is None else tokens - 1)
        return dict.fromkeys(("forward", "backward"), shape)

    def get_config(self) -> Config:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "num_sampled": self.num_sampled,
            "dropout": self.dropout,
        }


@keras.saving.register_keras_serializable("keras_elmo")
class PretrainingModel(keras.Model):
    """A functional model: an `Encoder`, then a `LanguageModelHead`.

    Compile it with an optimizer and no loss, and fit it to batches of whole sentences.

    Args:
        config: the sizes.
        vocabulary_size: number of target ids.
        num_sampled: candidates of the sampled softmax.
        dtype: dtype policy of every layer.
        **kwargs: `name`.

    Call arguments:
        inputs: dictionary of `char_ids`, `(batch, tokens, ids_per_token)`, and
            `token_ids`, `(batch, tokens)`, -1 where masked; both with the
            sentence boundaries.

    Returns:
        What the head returns.

    Reference: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self,
        config: ElmoConfig,
        vocabulary_size: int,
        num_sampled: int = 8192,
        dtype: DType = None,
        **kwargs: object,
    ) -> None:
        # === Layers ===
        encoder = Encoder(config, dtype=dtype)
        head = LanguageModelHead(
            vocabulary_size, num_sampled, config.dropout, name="head", dtype=dtype
        )

        # === Functional model ===
        inputs = {
            "char_ids": keras.Input(
                (None, config.ids_per_token), dtype="int32", name="char_ids"
            ),
            "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        }
        top = encoder(inputs["char_ids"])[-1]
        outputs = head(top, inputs["token_ids"])
        super().__init__(
            inputs=inputs, outputs=outputs, **{"name": "pretraining_model", **kwargs}
        )

        # === Config ===
        self.encoder = encoder
        self.head = head
        self.config = config
        # The words of the target ids, to evaluate the model on text.
        self.vocabulary: Vocabulary | None = None
        self.forward_loss = keras.metrics.Mean(name="forward_loss")
        self.backward_loss = keras.metrics.Mean(name="backward_loss")
        self._exact: Callable[..., dict[str, Tensor]] | None = None

    def exact_losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Returns the losses of a batch by the exact softmax, computed on one device.

        `predict_on_batch` would compute the whole batch on every replica of a
        `tf.distribute` strategy.
        """
        if keras.backend.backend() != "tensorflow":
            return self.predict_on_batch(batch)
        if self._exact is None:
            # One graph for batches of all shapes.
            signature = {
                name: tf.TensorSpec(each.shape, each.dtype)
                for name, each in self.input.items()
            }
            self._exact = tf.function(
                lambda batch: self(batch, training=False),
                input_signature=[signature],
                autograph=False,
            )
        return self._exact(
            {name: ops.convert_to_tensor(batch[name], "int32") for name in self.input}
        )

    def compute_metrics(
        self, x: Tensor, y: Tensor, y_pred: Tensor, sample_weight: Tensor = None
    ) -> dict[str, Tensor]:
        predicted = _predicted(x["token_ids"])
        self.forward_loss.update_state(y_pred["forward"], predicted)
        self.backward_loss.update_state(y_pred["backward"], predicted)
        return self.get_metrics_result()

    def count_predictions(self, token_ids: Tensor) -> Tensor:
        """Returns the number of tokens that each direction predicts."""
        return ops.sum(_predicted(token_ids))

    def get_config(self) -> Config:
        return {
            "options": self.config.to_options(),
            "vocabulary_size": self.head.vocabulary_size,
            "num_sampled": self.head.num_sampled,
            "dtype": self.encoder.get_config()["dtype"],
            "tokenizer": self.encoder.tokenizer,
            "frozen_layers": frozen_layers(self),
            "name": self.name,
        }

    @classmethod
    def from_config(
        cls, config: Config, custom_objects: object = None
    ) -> "PretrainingModel":
        config = dict(config)
        tokenizer = config.pop("tokenizer", None)
        # Files of version 0.1.0 have none.
        frozen = config.pop("frozen_layers", ())
        model = cls(read_options(config.pop("options")), **config)
        model.encoder.tokenizer = tokenizer
        freeze_layers(model, frozen)
        return model


def _predicted(token_ids: Tensor) -> Tensor:
    """1 for each pair of neighbours of which the second is a token, else 0."""
    return ops.cast(token_ids[:, 1:] != PADDING_ID, "float32")


def build_pretraining_model(
    config: ElmoConfig,
    vocabulary_size: int,
    num_sampled: int = 8192,
    dtype: DType = None,
) -> PretrainingModel:
    """Returns a new language model, initialized as the published ones were.

    Compile it with an optimizer and no loss, and fit it to the batches of a `Corpus`;
    `pretrain` does that and more.

    Args:
        config: the sizes.
        vocabulary_size: number of target ids, the special ones included.
        num_sampled: candidates of the sampled softmax.
        dtype: dtype policy of every layer; Keras's global one if `None`.

    Returns:
        A `PretrainingModel`. It takes a dictionary of `char_ids`,
        `(batch, tokens, ids_per_token)`, and `token_ids`, `(batch, tokens)`, -1 where
        masked, and returns a dictionary of `forward` and `backward`,
        `(batch, tokens - 1)` negative log likelihoods in nats. `model.encoder` is the
        `Encoder`.

    Example:

    ```python
    config = keras_elmo.ElmoConfig.preset("tiny")
    model = keras_elmo.build_pretraining_model(config, vocabulary_size=4)
    # The ids of <S>, a word and </S>; they are predicted from each other.
    batch = {
        "char_ids": keras_elmo.CharacterIds()([["river"]]),
        "token_ids": tf.constant([[0, 3, 1]]),
    }
    losses = model(batch)
    assert losses["forward"].shape == losses["backward"].shape == (1, 2)
    ```
    """
    return PretrainingModel(config, vocabulary_size, num_sampled, dtype)
