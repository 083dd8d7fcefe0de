"""Names for types in annotations."""

import os
from typing import Any, TypeAlias

# An array of Keras's backend (a `tf.Tensor`, `jax.Array` or `torch.Tensor`), a
# `keras.KerasTensor`, or a value that operations convert to one.
Tensor: TypeAlias = Any

# Sizes of a tensor's axes; `None` for an unknown size.
Shape: TypeAlias = tuple[int | None, ...]

# The name of a type, such as "bfloat16", or a `keras.DTypePolicy`, or its config.
DType: TypeAlias = Any

# Arguments of a constructor as `get_config` returns them, with values of JSON.
Config: TypeAlias = dict[str, Any]

StrPath: TypeAlias = str | os.PathLike[str]
