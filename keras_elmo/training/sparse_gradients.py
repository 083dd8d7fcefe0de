"""Gradients of looked-up rows on TensorFlow: `tf.IndexedSlices`.

A batch looks up a few thousand rows of a softmax. Keras's optimizers read and write all
of its rows; those of `optimizers.py` update the looked-up rows alone.
"""

from collections.abc import Iterable

import keras

from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor


def is_sparse(gradient: Tensor) -> bool:
    """Whether a gradient is a `tf.IndexedSlices`."""
    if keras.backend.backend() != "tensorflow":
        return False
    return isinstance(gradient, tf.IndexedSlices)


def sum_gradients(gradients: Iterable[Tensor]) -> list[Tensor]:
    """Sums gradients over the replicas, and over repeated rows.

    TensorFlow keeps one slice per lookup of a row. The norm and the optimizers' slots
    are of squares, and the squares of the slices do not add up to that of their sum.
    """
    gradients = list(gradients)
    context = tf.distribute.get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        dense = [g for g in gradients if g is not None and not is_sparse(g)]
        totals = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, dense))
        # All replicas gather the rows in the same order: sums in different orders
        # would be rounded differently, and the replicas drift apart.
        gradients = [
            tf.IndexedSlices(
                context.all_gather(g.values, axis=0),
                context.all_gather(g.indices, axis=0),
                g.dense_shape,
            )
            if is_sparse(g)
            else g
            if g is None
            else next(totals)
            for g in gradients
        ]
    return [_sum_repeated_rows(g) if is_sparse(g) else g for g in gradients]


def _sum_repeated_rows(gradient: Tensor) -> Tensor:
    rows, indices = tf.unique(gradient.indices)
    sums = tf.math.unsorted_segment_sum(gradient.values, indices, tf.size(rows))
    return tf.IndexedSlices(sums, rows, gradient.dense_shape)
