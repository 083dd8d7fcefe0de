"""The gradient of the recurrence, by hand (TensorFlow).

Differentiating the loop automatically adds up a weight gradient at every step. Here
the loop backwards does only what has to wait for the step behind it: the rest is done
for all steps at once, and one matrix product computes each weight's gradient.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from keras_elmo.layers.lstm_step import Cell, State
from keras_elmo.layers.packed_recurrence import Steps, read, replaced, scan


def read_with_gradient(
    steps: Steps, gates: Sequence[Any], cells: Sequence[Cell], states: Sequence[State]
) -> tuple[list[Any], list[State]]:
    """Runs several LSTMs side by side, as `read` does, for a gradient to be taken.

    Returns:
        The outputs of each LSTM, packed, and the last states of the sorted rows.

    Reference: Hochreiter and Schmidhuber 1997, Long Short-Term Memory, appendix.
    """

    @tf.custom_gradient
    def recurrence(*arguments: Any) -> Any:
        gates, kernels, projections, h, c = _shared_out(arguments, len(cells))
        own = [
            cell._replace(kernel=kernel, projection_kernel=projection)
            for cell, kernel, projection in zip(
                cells, kernels, projections, strict=True
            )
        ]
        first = [State(*state) for state in zip(h, c, strict=True)]
        recorded, last = read(steps, gates, own, first, True, record=True)

        def gradient(*upstream: Any) -> list[Any]:
            d_outputs, d_h, d_c = _shared_out(upstream, len(cells))
            d_last = [State(*state) for state in zip(d_h, d_c, strict=True)]
            return _gradient(steps, own, first, recorded, d_outputs, d_last)

        outputs = [record[0] for record in recorded]
        return [*outputs, *(h for h, _ in last), *(c for _, c in last)], gradient

    results = recurrence(
        *gates,
        *(cell.kernel for cell in cells),
        *(cell.projection_kernel for cell in cells),
        *(state.h for state in states),
        *(state.c for state in states),
    )
    outputs, h, c = _shared_out(results, len(cells))
    return outputs, [State(*state) for state in zip(h, c, strict=True)]


def _shared_out(values: Sequence[Any], size: int) -> Iterator[list[Any]]:
    """Cuts a flat list into lists of one element for each LSTM."""
    return (list(values[k : k + size]) for k in range(0, len(values), size))


def _gradient(
    steps: Steps,
    cells: Sequence[Cell],
    first: Sequence[State],
    recorded: Sequence[Sequence[Any]],
    d_outputs: Sequence[Any],
    d_last: Sequence[State],
) -> list[Any]:
    """Of the gates, the kernels, the projections, the first h and the first c."""
    before = _places_before(steps, tf.shape(first[0].h)[0])
    c_before = [
        tf.gather(tf.concat([state.c, record[1]], axis=0), before)
        for state, record in zip(first, recorded, strict=True)
    ]

    # A product with a transposed matrix turns it each time; here it is turned once.
    turned = [
        cell._replace(
            kernel=tf.transpose(cell.kernel),
            projection_kernel=tf.transpose(cell.projection_kernel),
        )
        for cell in cells
    ]

    def back(size: Any, start: Any, states: Any) -> Any:
        now = slice(start, start + size)
        earlier, values = [], []
        for state, cell, d_y, record, c_earlier in zip(
            states, turned, d_outputs, recorded, c_before, strict=True
        ):
            live = State(state.h[:size] + d_y[now], state.c[:size])
            now_recorded = [part[now] for part in (*record, c_earlier)]
            d_before, computed = _step_back(live, cell, *now_recorded)
            earlier.append(replaced(state, d_before, size))
            values.append(computed)
        return earlier, values

    like = [_like_step_back(state) for state in first]
    computed, d_first = scan(steps, back, list(d_last), like, reverse=True)
    d_kernels, d_projections = [], []
    for (d_z, d_h, hidden), state, record in zip(
        computed, first, recorded, strict=True
    ):
        h_before = tf.gather(tf.concat([state.h, record[0]], axis=0), before)
        d_kernels.append(tf.matmul(h_before, d_z, transpose_a=True))
        d_projections.append(tf.matmul(hidden, d_h, transpose_a=True))
    return [
        *(d_z for d_z, _, _ in computed),
        *d_kernels,
        *d_projections,
        *(h for h, _ in d_first),
        *(c for _, c in d_first),
    ]


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
