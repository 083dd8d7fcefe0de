"""The gradient of the recurrence, by hand (TensorFlow).

Differentiating the loop automatically adds up a weight gradient at every step. Here
the loop backwards leaves the weights' gradients out, and one matrix product over all
steps computes each of them.
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
            `([h, c, gates], last state)`, with the activated gates of every step.
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
        (h, c, gates), last = run(gates, recurrent, projection, first_h, first_c)

        def back(state: list[Any], now: list[Any]) -> tuple[list[Any], list[Any]]:
            d_h, d_c = state
            d_y, h, c, c_before, gates = now
            i, j, f, o = tf.split(gates, 4, axis=-1)
            squashed = tf.tanh(c)
            d_h = (d_h + d_y) * _inside(h, projection_clip)
            d_hidden = tf.matmul(d_h, projection, transpose_b=True)
            d_hidden = tf.cast(d_hidden, d_c.dtype)
            d_c += d_hidden * o * (1 - squashed * squashed)
            d_c *= _inside(c, cell_clip)
            d_i = d_c * j * i * (1 - i)
            d_j = d_c * i * (1 - j * j)
            d_f = d_c * c_before * f * (1 - f)
            d_o = d_hidden * squashed * o * (1 - o)
            d_z = tf.cast(tf.concat([d_i, d_j, d_f, d_o], axis=-1), d_h.dtype)
            before = [tf.matmul(d_z, recurrent, transpose_b=True), d_c * f]
            return before, [d_z, d_h, tf.cast(o * squashed, d_h.dtype)]

        def gradient(d_outputs: Any, d_last_h: Any, d_last_c: Any) -> tuple[Any, ...]:
            c_before = tf.concat([first_c[None], c[:-1]], axis=0)
            h_before = tf.concat([first_h[None], h[:-1]], axis=0)
            (d_gates, d_h, hidden), (d_first_h, d_first_c) = scan_tensorflow(
                back,
                [d_last_h, d_last_c],
                [d_outputs, h, c, c_before, gates],
                reverse=True,
            )
            d_recurrent = _over_all_steps(h_before, d_gates)
            d_projection = _over_all_steps(hidden, d_h)
            return d_gates, d_recurrent, d_projection, d_first_h, d_first_c

        return (h, *last), gradient

    def outputs_and_state(*args: Any) -> tuple[Any, list[Any]]:
        outputs, h, c = recurrence(*args)
        return outputs, [h, c]

    return outputs_and_state


def _over_all_steps(x: Any, y: Any) -> Any:
    """Sums the outer products of `(time, batch, .)` tensors over time and batch."""
    import tensorflow as tf

    x = tf.reshape(x, [-1, x.shape[-1]])
    return tf.matmul(x, tf.reshape(y, [-1, y.shape[-1]]), transpose_a=True)


def _inside(x: Any, bound: float | None) -> Any:
    """1 where a clipped value was not held at its bound, else 0."""
    import tensorflow as tf

    if bound is None:
        return tf.ones_like(x)
    return tf.cast(tf.abs(x) < bound, x.dtype)
