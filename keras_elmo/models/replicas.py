"""What the replicas of a `tf.distribute` strategy have to know of each other."""

from typing import Any

import keras

from keras_elmo.optional import import_tensorflow


def mean_over_replicas(value: Any) -> Any:
    """Returns the mean of a value over the replicas; the value itself without any.

    On JAX, arrays are those of all devices anyway.
    """
    if keras.backend.backend() != "tensorflow":
        return value
    tf = import_tensorflow("Training on several devices")
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return value
    return context.all_reduce(tf.distribute.ReduceOp.MEAN, value)
