"""The gradient of the recurrence, by hand (TensorFlow).

Differentiating the loop automatically adds up a weight gradient at every step. Here
the loop backwards computes only what waits for the next step; everything else, the
weights' gradients above all, is one operation over all steps.
"""

from collections.abc import Callable
from typing import Any

from keras_elmo.layers.recurrence import scan_tensorflow


def with_gradient(
    run: Callable[..., Any],
    cell_clip: float | None,
    projection_clip: float | None,
) -> Callable[..., tuple[Any, list[Any]]]:
    """Gives a run of the recurrence its gradient.

    Args:
        run: `(gates, recurrent_kernel, projection_kernel, h, c)` to
            `([h, c, z], last state)`, with the gates' arguments `z` of every step.
        cell_clip: bound on every element of the cell state, or `None`.
        projection_clip: bound on every element of the output, or `None`.

    Returns:
        A function of the same arguments that returns `(outputs, last state)`.

    Reference: Hochreiter and Schmidhuber 1997, Long Short-Term Memory, appendix.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def recurrence(
        gates: Any, recurrent: Any, projection: Any, first_h: Any, first_c: Any
    ) -> Any:
        (h, c, z), last = run(gates, recurrent, projection, first_h, first_c)

        def gradient(d_outputs: Any, d_last_h: Any, d_last_c: Any) -> tuple[Any, ...]:
            i, j, f, o = tf.split(z, 4, axis=-1)
            i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f + 1), tf.sigmoid(o)
            squashed = tf.tanh(c)
            hidden = tf.cast(o * squashed, h.dtype)
            c_before = tf.concat([first_c[None], c[:-1]], axis=0)
            h_before = tf.concat([first_h[None], h[:-1]], axis=0)
            # What a step's d_c and d_hidden are multiplied by to get its d_z.
            by_c = tf.concat(
                [j * i * (1 - i), i * (1 - j * j), c_before * f * (1 - f)], axis=-1
            )
            by_hidden = squashed * o * (1 - o)
            hidden_by_c = o * (1 - squashed * squashed)
            h_moves, c_moves = _inside(h, projection_clip), _inside(c, cell_clip)

            def back(state: list[Any], now: list[Any]) -> tuple[list[Any], list[Any]]:
                d_h, d_c = state
                d_y, by_c, by_hidden, hidden_by_c, f, h_moves, c_moves = now
                d_h = (d_h + d_y) * h_moves
                d_hidden = tf.matmul(d_h, projection, transpose_b=True)
                d_hidden = tf.cast(d_hidden, d_c.dtype)
                d_c = (d_c + d_hidden * hidden_by_c) * c_moves
                d_z = tf.concat(
                    [tf.tile(d_c, [1, 3]) * by_c, d_hidden * by_hidden], axis=-1
                )
                d_z = tf.cast(d_z, d_h.dtype)
                before = [tf.matmul(d_z, recurrent, transpose_b=True), d_c * f]
                return before, [d_z, d_h]

            (d_gates, d_h), (d_first_h, d_first_c) = scan_tensorflow(
                back,
                [d_last_h, d_last_c],
                [d_outputs, by_c, by_hidden, hidden_by_c, f, h_moves, c_moves],
                reverse=True,
            )
            d_recurrent = tf.tensordot(h_before, d_gates, [[0, 1], [0, 1]])
            d_projection = tf.tensordot(hidden, d_h, [[0, 1], [0, 1]])
            return d_gates, d_recurrent, d_projection, d_first_h, d_first_c

        return (h, *last), gradient

    def outputs_and_state(*args: Any) -> tuple[Any, list[Any]]:
        outputs, h, c = recurrence(*args)
        return outputs, [h, c]

    return outputs_and_state


def _inside(x: Any, bound: float | None) -> Any:
    """1 where a clipped value was not held at its bound, else 0."""
    import tensorflow as tf

    if bound is None:
        return tf.ones_like(x)
    return tf.cast(tf.abs(x) < bound, x.dtype)
