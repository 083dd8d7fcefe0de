"""Variables of very many rows, which are not to be copied as a whole.

The softmax of 800,000 words has 1.6 GB, and so has what its optimizer keeps. Keras on
TensorFlow copies such a variable where one would not think so: when rows of it are
taken and it is updated afterwards, when it is given a value, and when it is read by a
program. TensorFlow keeps the memory of every copy.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.utils.lazy import tf

_BLOCK_BYTES = 1 << 26


def looked_up_rows(weight: Any, ids: Any) -> Any:
    """Returns the rows of the ids, and does not touch the others.

    Args:
        weight: `(rows, ...)`, a tensor or a variable that is not autocast.
        ids: integers of any shape.
    """
    if keras.backend.backend() == "tensorflow" and isinstance(weight, keras.Variable):
        return tf.gather(weight.value, ids)
    return ops.take(weight, ids, axis=0)


def block_starts(shape: tuple[int, ...], itemsize: int) -> range:
    """Returns the first rows of an array's blocks; the step is the rows of one."""
    row = itemsize * int(np.prod(shape[1:], dtype="int64"))
    return range(0, shape[0], max(1, _BLOCK_BYTES // max(row, 1)))


def blocks_of(variable: Any) -> Iterator[np.ndarray]:
    """Yields what a variable of one axis or more holds, some of its rows at a time.

    Of a variable that several devices hold, it is what the first of them has.
    """
    shape = tuple(variable.shape)
    starts = block_starts(shape, np.dtype(variable.dtype).itemsize)
    if len(starts) < 2:
        yield ops.convert_to_numpy(variable)
        return
    for start in starts:
        ids = np.arange(start, min(start + starts.step, shape[0]))
        yield ops.convert_to_numpy(looked_up_rows(variable, ids))


def fill(variable: Any, blocks: Iterable[np.ndarray]) -> None:
    """Assigns an array of one axis or more that comes in blocks of its rows."""
    if keras.backend.backend() != "tensorflow":
        variable.assign(np.concatenate(list(blocks)))
        return
    start = 0
    # Now, even where a function is traced that is to run later.
    with tf.init_scope():
        for block in blocks:
            rows = tf.IndexedSlices(block, np.arange(start, start + len(block)))
            # Of a strategy's variable, that of each device.
            for local in getattr(variable.value, "values", (variable.value,)):
                local.scatter_update(rows)
            start += len(block)
