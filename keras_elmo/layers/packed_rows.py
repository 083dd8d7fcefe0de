"""The live positions of a batch, laid out step after step (TensorFlow).

In natural order half the positions of a batch are padding. Here the rows are sorted by
length, and a step holds those that are still being read.
"""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_elmo.layers.packed_gradient import read_with_gradient
from keras_elmo.layers.packed_recurrence import Steps, read
from keras_elmo.layers.recurrence import Reader, State


class PackedLayout:
    """Lays rows out as `(live positions, features)`.

    A step's positions are those of the rows that are longer than that, the longest
    row first. See `keras_elmo.layers.recurrence.Rows`.
    """

    def __init__(self, batch: Any, time: Any, mask: Any) -> None:
        if mask is None:
            lengths = tf.fill([batch], time)
        else:
            lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        self._shape = (batch, time)
        self._order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        lengths = tf.gather(lengths, self._order)
        # If there is nothing to read, one step of no rows.
        num_steps = tf.maximum(tf.reduce_max(lengths), 1)
        live = tf.range(num_steps)[:, tf.newaxis] < lengths
        step, rank = tf.unstack(tf.cast(tf.where(live), tf.int32), axis=1)
        self._steps = Steps(tf.math.count_nonzero(live, axis=1, dtype=tf.int32), rank)
        row = tf.gather(self._order, rank) * time
        # Where each live position stands in the batch, flattened.
        self._forward = row + step
        self._backward = row + tf.gather(lengths, rank) - 1 - step

    def arrange(self, x: Any, reverse: bool = False) -> Any:
        x = tf.reshape(x, [-1, x.shape[-1]])
        return _picked(x, self._backward if reverse else self._forward)

    def restore(self, x: Any, reverse: bool = False) -> Any:
        batch, time = self._shape
        places = self._backward if reverse else self._forward
        flat = _placed(x, places, batch * time)
        return tf.reshape(flat, [batch, time, x.shape[-1]])

    def run(
        self, readers: list[Reader], keep_state: bool, training: bool | None
    ) -> tuple[list[Any], list[State]]:
        readers = [self._sorted(reader) for reader in readers]
        if training:
            run = _in_a_graph(read_with_gradient, readers)
            outputs, last = run(self._steps, readers)
        else:
            run = _in_a_graph(read, readers)
            recorded, last = run(self._steps, readers, keep_state)
            outputs = [h for (h,) in recorded]
        if not keep_state:
            return outputs, []
        back = tf.math.invert_permutation(self._order)
        return outputs, [State(_picked(h, back), _picked(c, back)) for h, c in last]

    def _sorted(self, reader: Reader) -> Reader:
        """A reader of the sorted rows, as tensors."""
        # Variables are read here, once, rather than in each step.
        cell = reader.cell._replace(
            kernel=tf.convert_to_tensor(reader.cell.kernel),
            projection_kernel=tf.convert_to_tensor(reader.cell.projection_kernel),
        )
        h, c = (_picked(part, self._order) for part in reader.state)
        return Reader(reader.gates, cell, State(h, c))


def _in_a_graph(
    function: Callable[..., Any], readers: list[Reader]
) -> Callable[..., Any]:
    """Outside of a graph each op of each step would be a call from Python."""
    if tf.inside_function():
        return function
    shapes = (tuple(reader.cell.projection_kernel.shape) for reader in readers)
    return _as_graph(function, *shapes)


@functools.cache
def _as_graph(function: Callable[..., Any], *shapes: Any) -> Callable[..., Any]:
    """One for layers of each size: a graph for all would know no sizes."""
    return tf.function(function, autograph=False, reduce_retracing=True)


@tf.custom_gradient
def _picked(x: Any, places: Any) -> Any:
    """Gathers rows, none of them twice: so its gradient is no sum."""

    def gradient(upstream: Any) -> tuple[Any, None]:
        return _placed(upstream, places, tf.shape(x)[0]), None

    return tf.gather(x, places), gradient


def _placed(x: Any, places: Any, num_rows: Any) -> Any:
    """Puts rows where they belong, and 0 into the others."""
    return tf.scatter_nd(places[:, tf.newaxis], x, [num_rows, x.shape[-1]])
