"""The optimizer of the published models."""

from typing import Any

import keras

from keras_elmo.optional import import_tensorflow

# The published trainer multiplies the loss by the steps it unrolls before it takes
# gradients. With an accumulator that begins at 1 and a bound on the norm, that factor
# is part of the recipe.
_LOSS_FACTOR = 20.0


@keras.saving.register_keras_serializable("keras_elmo")
class PublishedAdagrad(keras.optimizers.Adagrad):
    """Adagrad as the published models were trained with it.

    Gradients of 20 times the loss, clipped to a global norm of 10, accumulated from
    1.0; the loss that is reported is the plain one.

    Args:
        learning_rate: a number or a schedule.
        **kwargs: arguments of `keras.optimizers.Adagrad`.

    Reference: Duchi et al. 2011, Adaptive Subgradient Methods; Peters et al. 2018,
    supplemental material.
    """

    def __init__(
        self,
        learning_rate: Any = 0.2,
        initial_accumulator_value: float = 1.0,
        global_clipnorm: float | None = 10.0,
        name: str = "adagrad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )

    def scale_loss(self, loss: Any) -> Any:
        return super().scale_loss(loss * _LOSS_FACTOR)

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        if keras.backend.backend() == "tensorflow":
            grads = [_one_slice_a_row(gradient) for gradient in grads]
        super().apply(grads, trainable_variables)


def _one_slice_a_row(gradient: Any) -> Any:
    """Adds up what TensorFlow leaves apart when a row was looked up several times.

    The norm and the accumulators are of squares, where the parts' are not the sum's.
    """
    tf = import_tensorflow("Training on the TensorFlow backend")
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, places = tf.unique(gradient.indices)
    sums = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(rows))
    return tf.IndexedSlices(sums, rows, gradient.dense_shape)
