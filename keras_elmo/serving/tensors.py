"""gRPC's tensors as arrays."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.signature import Argument, Arrays


def arrays(
    tensors: Mapping[str, TensorProto],
    arguments: Mapping[str, Argument],
    max_values: int,
) -> Arrays:
    """Returns an array for each argument of a signature.

    Args:
        tensors: what was sent, by name.
        arguments: what the signature takes.
        max_values: the most values of one; a few bytes can announce any number.

    Raises:
        ServingError: the tensors are not what the signature takes.
    """
    if set(tensors) != set(arguments):
        raise _invalid(f"The inputs must be {list(arguments)}", sorted(tensors)[:20])
    return {
        name: _array(tensors[name], argument, f"'{name}'", max_values)
        for name, argument in arguments.items()
    }


def _array(
    tensor: TensorProto, argument: Argument, name: str, max_values: int
) -> np.ndarray:
    dtype = tf.as_dtype(argument.dtype)
    if tensor.dtype != dtype.as_datatype_enum:
        raise _invalid(f"{name} must be of type {dtype.name}", f"type {tensor.dtype}")
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or len(sizes) != argument.rank:
        raise _invalid(f"{name} must have {argument.rank} axes", f"shape {sizes[:9]}")
    # No row of two thousand million tokens, either: TensorFlow makes room for one.
    if min(sizes) < 0 or math.prod(max(size, 1) for size in sizes) > max_values:
        raise _invalid(f"{name} may have {max_values:,} values", f"shape {sizes}")
    try:
        return tf.make_ndarray(tensor)
    except ValueError as error:
        raise _invalid(f"{name} must have the values of its shape", error) from None


def _invalid(rule: str, received: Any) -> ServingError:
    return ServingError(Code.INVALID_ARGUMENT, f"{rule}. Received: {received}")
