"""The recurrence over packed rows (TensorFlow)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_elmo.layers.recurrence import Reader, State, lstm_step

# What a processor core's own cache holds, about.
_CORE_CACHE_BYTES = 4 * 2**20


class Steps(NamedTuple):
    """How positions are packed.

    Attributes:
        sizes: `(steps,)`, how many rows a step reads; never more than the one before.
        ranks: `(live positions,)`, the row of each position among the sorted rows.
    """

    sizes: Any
    ranks: Any


def read(
    steps: Steps, readers: Sequence[Reader], keep_state: bool, record: bool = False
) -> tuple[list[list[Any]], list[State]]:
    """Runs several LSTMs side by side.

    Args:
        steps: how positions are packed.
        readers: the LSTMs, their gates `(live positions, 4 * units)`, their states of
            the sorted rows.
        keep_state: whether a row that has ended keeps its state, at the price of a
            copy a step. Else the last states are of no use.
        record: whether to put out all that the gradient needs.

    Returns:
        Of each LSTM `[h]`, or `[h, c, i, j, f, o]` if recorded, packed; and the last
        states of the sorted rows.
    """

    readers = [
        reader._replace(cell=reader.cell._replace(kernel=_spread(reader.cell.kernel)))
        for reader in readers
    ]

    def step(size: Any, start: Any, states: Any) -> Any:
        after, values = [], []
        for reader, before in zip(readers, states, strict=True):
            live = State(*(part[:size] for part in before))
            x = reader.gates[start : start + size]
            state, activated = lstm_step(x, live, reader.cell)
            values.append([state.h])
            if record:
                values[-1] += [state.c, *activated]
            after.append(replaced(before, state, size) if keep_state else state)
        return after, values

    first = [reader.state for reader in readers]
    like = [[h, c, *[c] * 4] if record else [h] for h, c in first]
    return scan(steps, step, first, like)


def _spread(kernel: Any) -> Any:
    """Adds columns to a large matrix, for a step of few rows to read it faster.

    Where a row is a multiple of 4 KiB, the beginnings of all rows compete for the same
    lines of the cache.
    """
    if kernel.shape[0] * kernel.shape[1] * kernel.dtype.size < _CORE_CACHE_BYTES:
        return kernel
    return tf.pad(kernel, [[0, 0], [0, 32]])


def replaced(before: Any, after: Any, size: Any) -> Any:
    """Puts the live rows' new values before the others' old ones."""
    return type(before)(
        *(
            tf.concat([new, old[size:]], axis=0)
            for new, old in zip(after, before, strict=True)
        )
    )


def scan(
    steps: Steps,
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    carried: Any,
    like: Any,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Applies a function to one step after the other.

    Args:
        steps: how positions are packed.
        step: `(size, start of its positions, carried) -> (carried, values)`.
        carried: what the first call gets: tensors whose number of rows may change.
        like: for each of the values a tensor of its type and width.
        reverse: whether to begin with the last step.

    Returns:
        The values, packed, and what was carried at the end.
    """
    num_steps = tf.shape(steps.sizes)[0]
    starts = tf.cumsum(steps.sizes, exclusive=True)
    arrays = tf.nest.map_structure(
        lambda x: tf.TensorArray(
            x.dtype, num_steps, infer_shape=False, element_shape=[None, x.shape[-1]]
        ),
        like,
    )

    def body(k: Any, carried: Any, arrays: Any) -> Any:
        t = num_steps - 1 - k if reverse else k
        carried, values = step(steps.sizes[t], starts[t], carried)
        arrays = tf.nest.map_structure(lambda a, x: a.write(t, x), arrays, values)
        return k + 1, carried, arrays

    _, carried, arrays = tf.while_loop(
        lambda k, *_: k < num_steps,
        body,
        (tf.constant(0), carried, arrays),
        shape_invariants=(
            tf.TensorShape([]),
            tf.nest.map_structure(
                lambda x: tf.TensorShape([None, x.shape[-1]]), carried
            ),
            tf.nest.map_structure(lambda a: tf.TensorShape(None), arrays),
        ),
        # Tells the gradient how much to reserve.
        maximum_iterations=num_steps,
    )
    return tf.nest.map_structure(lambda a: a.concat(), arrays), carried
