"""The gradient of the recurrence, by hand (TensorFlow).

Differentiating the loop automatically adds up a weight gradient at every step. Here
the loop backwards does only what has to wait for the step behind it: the rest is done
for all steps at once, and one matrix product computes each weight's gradient.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_elmo.layers.packed_recurrence import Steps, read, replaced, scan
from keras_elmo.layers.recurrence import Cell, Reader, State


def read_with_gradient(
    steps: Steps, readers: Sequence[Reader]
) -> tuple[list[Any], list[State]]:
    """Runs several LSTMs side by side, as `read` does, for a gradient to be taken.

    Returns:
        The outputs of each LSTM, packed, and the last states of the sorted rows.

    Reference: Hochreiter and Schmidhuber 1997, Long Short-Term Memory, appendix.
    """

    # It takes and gives flat lists: one LSTM's tensors, then the next one's.
    @tf.custom_gradient
    def recurrence(*tensors: Any) -> Any:
        own = [
            Reader(
                gates,
                reader.cell._replace(kernel=kernel, projection_kernel=projection),
                State(h, c),
            )
            for reader, (gates, kernel, projection, h, c) in zip(
                readers, _groups_of(5, tensors), strict=True
            )
        ]
        recorded, last = read(steps, own, keep_state=True, record=True)

        def gradient(*upstream: Any) -> list[Any]:
            return _gradient(steps, own, recorded, _groups_of(3, upstream))

        results = [
            [record[0], *state] for record, state in zip(recorded, last, strict=True)
        ]
        return tf.nest.flatten(results), gradient

    tensors = [
        [gates, cell.kernel, cell.projection_kernel, *state]
        for gates, cell, state in readers
    ]
    groups = _groups_of(3, recurrence(*tf.nest.flatten(tensors)))
    return [outputs for outputs, _, _ in groups], [State(h, c) for _, h, c in groups]


def _groups_of(size: int, values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[k : k + size] for k in range(0, len(values), size)]


def _gradient(
    steps: Steps,
    readers: Sequence[Reader],
    recorded: Sequence[Sequence[Any]],
    upstream: Sequence[Sequence[Any]],
) -> list[Any]:
    """Of each LSTM's gates, kernel, projection, first h and first c."""
    before = _places_before(steps, tf.shape(readers[0].state.h)[0])
    # The output and the cell state before each position.
    earlier = [
        [
            tf.gather(tf.concat([first, later], axis=0), before)
            for first, later in zip(reader.state, record[:2], strict=True)
        ]
        for reader, record in zip(readers, recorded, strict=True)
    ]
    # A product with a transposed matrix turns it each time; here it is turned once.
    turned = [
        cell._replace(
            kernel=tf.transpose(cell.kernel),
            projection_kernel=tf.transpose(cell.projection_kernel),
        )
        for _, cell, _ in readers
    ]

    def back(size: Any, start: Any, states: Any) -> Any:
        now = slice(start, start + size)
        d_states, values = [], []
        for d, cell, (d_outputs, _, _), record, (_, c_before) in zip(
            states, turned, upstream, recorded, earlier, strict=True
        ):
            live = State(d.h[:size] + d_outputs[now], d.c[:size])
            now_recorded = [part[now] for part in (*record, c_before)]
            d_before, computed = _step_back(live, cell, *now_recorded)
            d_states.append(replaced(d, d_before, size))
            values.append(computed)
        return d_states, values

    d_last = [State(d_h, d_c) for _, d_h, d_c in upstream]
    like = [_like_step_back(reader.state) for reader in readers]
    computed, d_first = scan(steps, back, d_last, like, reverse=True)
    return tf.nest.flatten(
        [
            [
                d_z,
                tf.matmul(h_before, d_z, transpose_a=True),
                tf.matmul(hidden, d_h, transpose_a=True),
                *state,
            ]
            for (d_z, d_h, hidden), (h_before, _), state in zip(
                computed, earlier, d_first, strict=True
            )
        ]
    )


def _step_back(
    d: State,
    cell: Cell,
    h: Any,
    c: Any,
    i: Any,
    j: Any,
    f: Any,
    o: Any,
    c_before: Any,
) -> tuple[State, list[Any]]:
    """Returns the gradient of the state before a step, and what the weights' need.

    That is the gradients of the gates and of the output, and the projection's input.
    """
    # Kernels that multiply by the derivative of an activation, of which y is the value.
    sigmoid, tanh = tf.raw_ops.SigmoidGrad, tf.raw_ops.TanhGrad
    d_h = _within(h, cell.projection_clip, d.h)
    d_hidden = tf.cast(tf.matmul(d_h, cell.projection_kernel), c.dtype)
    squashed = tf.tanh(c)
    d_c = _within(c, cell.cell_clip, d.c + tanh(y=squashed, dy=d_hidden * o))
    d_z = tf.concat(
        [
            sigmoid(y=i, dy=d_c * j),
            tanh(y=j, dy=d_c * i),
            sigmoid(y=f, dy=d_c * c_before),
            sigmoid(y=o, dy=d_hidden * squashed),
        ],
        axis=-1,
    )
    d_z = tf.cast(d_z, d_h.dtype)
    d_before = State(tf.matmul(d_z, cell.kernel), d_c * f)
    return d_before, [d_z, d_h, tf.cast(o * squashed, d_h.dtype)]


def _within(x: Any, bound: float | None, gradient: Any) -> Any:
    """A clipped value passes its gradient on unless it was held at its bound."""
    if bound is None:
        return gradient
    return tf.where(tf.abs(x) < bound, gradient, tf.zeros([], gradient.dtype))


def _like_step_back(state: State) -> list[Any]:
    """Tensors of the types and widths of what `_step_back` puts out."""
    hidden = tf.cast(state.c, state.h.dtype)
    return [tf.concat([hidden] * 4, axis=-1), state.h, hidden]


def _places_before(steps: Steps, num_rows: Any) -> Any:
    """Where the step before stands, if the first states stand before all steps."""
    starts = num_rows + tf.cumsum(steps.sizes[:-1], exclusive=True)
    return steps.ranks + tf.repeat(tf.concat([[0], starts], axis=0), steps.sizes)
