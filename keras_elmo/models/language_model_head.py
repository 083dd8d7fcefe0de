"""The language model's output: what each position says of its neighbours."""

from typing import Any

import keras
from keras import ops

from keras_elmo.layers.sampled_softmax import SampledSoftmax
from keras_elmo.models.replicas import mean_over_replicas

# What a target id of a padded position is. Real ids begin at 0.
PADDING_ID = -1


@keras.saving.register_keras_serializable("keras_elmo")
class LanguageModelHead(keras.layers.Layer):
    """Predicts each token's neighbours and adds the loss to the model.

    The forward half of position k predicts token k + 1, the backward half of k + 1
    predicts token k; both by one softmax. The loss is the mean of the directions'
    mean negative log likelihoods.

    Args:
        vocabulary_size: number of target ids.
        num_sampled: candidates of the sampled softmax.
        dropout: rate, on the biLM's output, while training.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        top: `(batch, tokens, 2 * projection_units)`, the biLM's last layer.
        token_ids: `(batch, tokens)` integers, -1 where masked.
        training: whether to sample and to drop.

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
        **kwargs: Any,
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

    def build(self, top_shape: Any, token_ids_shape: Any) -> None:
        self.softmax.build((None, top_shape[-1] // 2))

    def call(
        self, top: Any, token_ids: Any, training: bool | None = None
    ) -> dict[str, Any]:
        top = self.output_dropout(top, training=training)
        units = top.shape[-1] // 2
        # A pair of neighbours counts where the second of them is a token.
        predicted = ops.cast(token_ids[:, 1:] != PADDING_ID, "float32")
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

    def compute_mask(self, *inputs: Any, **previous: Any) -> None:
        # Padding is told by the target ids, and a pair of neighbours is no token.
        return None

    def compute_output_spec(
        self, top: Any, token_ids: Any, training: bool | None = None
    ) -> dict[str, Any]:
        batch, tokens = token_ids.shape
        shape = (batch, None if tokens is None else tokens - 1)
        return {
            name: keras.KerasTensor(shape, "float32")
            for name in ("forward", "backward")
        }

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "num_sampled": self.num_sampled,
            "dropout": self.dropout,
        }
