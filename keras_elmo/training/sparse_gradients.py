"""Gradients of looked-up rows on TensorFlow, which are no dense tensors.

A batch touches a few thousand of a softmax's rows. What Keras makes of that in an
optimizer reads and writes all of them; here the others are left alone.
"""

from typing import Any

import keras

from keras_elmo.utils.lazy import tf


def is_sparse(gradient: Any) -> bool:
    """Whether a gradient is rows and their places."""
    if keras.backend.backend() != "tensorflow":
        return False
    return isinstance(gradient, tf.IndexedSlices)


def with_values(gradient: Any, values: Any) -> Any:
    """Returns the same rows with other values."""
    return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)


def summed(gradients: Any) -> list[Any]:
    """Adds gradients up over the replicas, and over the lookups of a row.

    TensorFlow leaves apart what a row got from each of its lookups. A norm and what
    the optimizers keep are of squares, where the parts' are not the sum's.
    """
    context = tf.distribute.get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        dense = [g for g in gradients if g is not None and not is_sparse(g)]
        totals = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, dense))
        gradients = [
            _gathered(g, context) if is_sparse(g) or g is None else next(totals)
            for g in gradients
        ]
    return [_one_slice_a_row(g) if is_sparse(g) else g for g in gradients]


def _gathered(gradient: Any, context: Any) -> Any:
    """Returns the rows of all replicas, in the same order on each of them.

    Sums in another order would be rounded otherwise, and the replicas drift apart.
    """
    if gradient is None:
        return None
    rows = context.all_gather(gradient.indices, axis=0)
    values = context.all_gather(gradient.values, axis=0)
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


def _one_slice_a_row(gradient: Any) -> Any:
    rows, places = tf.unique(gradient.indices)
    sums = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(rows))
    return tf.IndexedSlices(sums, rows, gradient.dense_shape)


def adagrad_update(
    gradient: Any, variable: Any, accumulator: Any, learning_rate: Any, epsilon: float
) -> None:
    """Updates the rows that a gradient is of, each once.

    Args:
        gradient: rows without repetition.
        variable: what it is the gradient of.
        accumulator: the sums of squares of the variable's gradients.
        learning_rate: a scalar.
        epsilon: added to the sums of squares.
    """
    rows, values = gradient.indices, gradient.values
    sums = tf.gather(accumulator.value, rows) + tf.square(values)
    accumulator.value.scatter_update(tf.IndexedSlices(sums, rows))
    change = tf.cast(learning_rate, values.dtype) * values / tf.sqrt(sums + epsilon)
    variable.scatter_sub(tf.IndexedSlices(change, rows))


def adam_update(
    gradient: Any,
    variable: Any,
    moments: tuple[Any, Any],
    betas: tuple[float, float],
    learning_rate: Any,
    epsilon: float,
) -> None:
    """Updates the rows that a gradient is of, each once.

    Args:
        gradient: rows without repetition.
        variable: what it is the gradient of.
        moments: means of the variable's gradients and of their squares.
        betas: how much of each mean is kept.
        learning_rate: a scalar, corrected for means that began at 0.
        epsilon: added to the root of the squares' mean.
    """
    rows, values = gradient.indices, gradient.values
    means = []
    for moment, beta, found in zip(
        moments, betas, (values, tf.square(values)), strict=True
    ):
        mean = beta * tf.gather(moment.value, rows) + (1 - beta) * found
        moment.value.scatter_update(tf.IndexedSlices(mean, rows))
        means.append(mean)
    change = tf.cast(learning_rate, values.dtype) * means[0]
    change /= tf.sqrt(means[1]) + epsilon
    variable.scatter_sub(tf.IndexedSlices(change, rows))
