"""Names of types that annotations share."""

import os
from typing import Any, TypeAlias

# An array of Keras's backend (a `tf.Tensor`, `jax.Array` or `torch.Tensor`), a
# `keras.KerasTensor`, or what such an operation converts to one.
Tensor: TypeAlias = Any

# Sizes of the axes of a tensor; `None` where one is not known beforehand.
Shape: TypeAlias = tuple[int | None, ...]

# The name of a type, such as "bfloat16", or a `keras.DTypePolicy`, or its config.
DType: TypeAlias = Any

# The arguments of a constructor, as `get_config` returns them: values of JSON.
Config: TypeAlias = dict[str, Any]

StrPath: TypeAlias = str | os.PathLike[str]
