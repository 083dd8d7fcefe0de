"""The loss of pretraining: each token's neighbours are predicted."""

import keras
from keras import ops

from keras_elmo.layers.sampled_softmax import SampledSoftmax
from keras_elmo.text.vocabulary import PADDING_ID
from keras_elmo.utils.checks import check_rate
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.one_graph import is_compiled
from keras_elmo.utils.types import Shape, Tensor


def mean_over_replicas(value: Tensor) -> Tensor:
    """Returns the mean over the replicas of a `tf.distribute` strategy, if any.

    On JAX an array spans all devices already. XLA compiles for one replica.
    """
    if keras.backend.backend() != "tensorflow" or is_compiled():
        return value
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return value
    return context.all_reduce(tf.distribute.ReduceOp.MEAN, value)


@keras_class
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
        likelihoods in nats, 0 where nothing is predicted. Element k of `forward`
        predicts token k + 1, element k of `backward` predicts token k.

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
        check_rate(dropout=dropout)
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
        predicted = predicted_pairs(token_ids)
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


def predicted_pairs(token_ids: Tensor) -> Tensor:
    """Returns 1 for each pair of neighbours whose second is a token, else 0."""
    return ops.cast(token_ids[:, 1:] != PADDING_ID, "float32")
