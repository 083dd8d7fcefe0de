"""Reads and writes variables with very many rows block by block.

The softmax of 800,000 words takes 1.6 GB, as does each slot of its optimizer. Keras on
TensorFlow copies such a variable when it is assigned, converted to NumPy, or indexed
and then updated; TensorFlow keeps the memory of each copy.
"""

from collections.abc import Iterable, Iterator

import keras
import numpy as np
from keras import ops

from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor

_BLOCK_BYTES = 1 << 26


def looked_up_rows(weight: Tensor, ids: Tensor) -> Tensor:
    """Returns some rows of a tensor, or of a variable that is not autocast."""
    if keras.backend.backend() == "tensorflow":
        # Unlike Keras, `tf.gather` refuses negative ids on a processor.
        weight = weight.value if isinstance(weight, keras.Variable) else weight
        return tf.gather(weight, ids)
    return ops.take(weight, ids, axis=0)


def block_starts(shape: tuple[int, ...], itemsize: int) -> range:
    """Returns the first row of each block; the step is the rows per block."""
    row = itemsize * int(np.prod(shape[1:], dtype="int64"))
    return range(0, shape[0], max(1, _BLOCK_BYTES // max(row, 1)))


def blocks_of(variable: keras.Variable) -> Iterator[np.ndarray]:
    """Yields the rows of a variable block by block, from the first device."""
    shape = tuple(variable.shape)
    starts = block_starts(shape or (1,), np.dtype(variable.dtype).itemsize)
    if len(starts) < 2:
        yield ops.convert_to_numpy(variable)
        return
    for start in starts:
        ids = np.arange(start, min(start + starts.step, shape[0]))
        yield ops.convert_to_numpy(looked_up_rows(variable, ids))


def fill(variable: keras.Variable, blocks: Iterable[np.ndarray]) -> None:
    """Assigns an array that comes in blocks of rows."""
    if keras.backend.backend() != "tensorflow":
        variable.assign(np.concatenate(list(blocks)))
        return
    start = 0
    # A strategy's variable has one value on each device.
    local_values = getattr(variable.value, "values", (variable.value,))
    # At once, even while a function is traced.
    with tf.init_scope():
        for block in blocks:
            rows = tf.IndexedSlices(block, np.arange(start, start + len(block)))
            for local in local_values:
                local.scatter_update(rows)
            start += len(block)
        # An update by rows makes TensorFlow copy the variable at every later read.
        for local in local_values:
            tf.raw_ops.DisableCopyOnRead(resource=local.handle)
