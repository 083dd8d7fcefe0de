"""The recurrence of an LSTM with projection: one piece of code, any direction.

The arithmetic of a step is written once, in `keras.ops`. Only the loop around it
depends on the backend, and it is chosen here.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Step = Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]


def projected_lstm(
    gates: Any,
    recurrent_kernel: Any,
    projection_kernel: Any,
    initial_state: list[Any],
    mask: Any = None,
    cell_clip: float | None = None,
    projection_clip: float | None = None,
    training: bool | None = None,
) -> tuple[Any, list[Any]]:
    """Runs the recurrence over time.

    Args:
        gates: `(time, batch, 4 * units)`, what the inputs and the bias contribute to
            the gates i, j, f, o.
        recurrent_kernel: `(projection_units, 4 * units)`.
        projection_kernel: `(units, projection_units)`.
        initial_state: `[h, c]`, `(batch, projection_units)` and `(batch, units)`.
        mask: `(time, batch)` booleans; a masked step holds the state.
        cell_clip: bound on every element of the cell state, or `None`.
        projection_clip: bound on every element of the output, or `None`.
        training: whether gradients will be asked for: the results are the same, the
            way to the gradient is a shorter one.

    Returns:
        `(outputs, [h, c])`: `(time, batch, projection_units)` and the last state. The
        cell state is float32 whatever the type of the rest.
    """
    # Weights may be variables; a loop body wants tensors of the type of its inputs.
    recurrent_kernel = ops.cast(recurrent_kernel, gates.dtype)
    projection_kernel = ops.cast(projection_kernel, gates.dtype)
    h, c = initial_state
    state = [ops.cast(h, gates.dtype), ops.cast(c, "float32")]
    on_tensorflow = keras.backend.backend() == "tensorflow"

    if training and mask is None and on_tensorflow:
        from keras_elmo.layers.recurrence_gradient import with_gradient

        def run(gates: Any, recurrent: Any, projection: Any, *state: Any) -> Any:
            step = _make_step(recurrent, projection, cell_clip, projection_clip, True)
            return scan_tensorflow(step, list(state), [gates])

        return with_gradient(run, cell_clip, projection_clip)(
            gates, recurrent_kernel, projection_kernel, *state
        )

    step = _make_step(recurrent_kernel, projection_kernel, cell_clip, projection_clip)
    inputs = [gates] if mask is None else [gates, mask]
    if on_tensorflow:
        (outputs,), state = scan_tensorflow(step, state, inputs)
    else:
        state, (outputs,) = ops.scan(step, state, inputs)
    return outputs, state


def _make_step(
    recurrent_kernel: Any,
    projection_kernel: Any,
    cell_clip: float | None,
    projection_clip: float | None,
    record: bool = False,
) -> Step:
    """One step; with `record` it puts out all that its gradient needs."""

    def step(state: list[Any], inputs: list[Any]) -> tuple[list[Any], list[Any]]:
        h, c = state
        z = ops.cast(inputs[0] + ops.matmul(h, recurrent_kernel), c.dtype)
        i, j, f, o = ops.split(z, 4, axis=-1)
        i, j, f, o = ops.sigmoid(i), ops.tanh(j), ops.sigmoid(f + 1), ops.sigmoid(o)
        new_c = _clip(f * c + i * j, cell_clip)
        new_h = ops.cast(o * ops.tanh(new_c), h.dtype)
        new_h = _clip(ops.matmul(new_h, projection_kernel), projection_clip)
        if record:
            activated = ops.concatenate([i, j, f, o], axis=-1)
            return [new_h, new_c], [new_h, new_c, activated]
        if len(inputs) == 2:
            live = inputs[1][:, None]
            new_h, new_c = ops.where(live, new_h, h), ops.where(live, new_c, c)
        return [new_h, new_c], [new_h]

    return step


def _clip(x: Any, bound: float | None) -> Any:
    return x if bound is None else ops.clip(x, -bound, bound)


def scan_tensorflow(
    step: Step, state: list[Any], inputs: list[Any], reverse: bool = False
) -> tuple[list[Any], list[Any]]:
    """Applies `step` along the first axis; `keras.ops.scan` wants it to be static.

    Args:
        step: `(state, inputs of a time) -> (state, outputs of that time)`.
        state: what the first step gets.
        inputs: tensors whose first axis is time.
        reverse: whether time runs from the end.

    Returns:
        The outputs, stacked along a first axis, and the last state.
    """
    import tensorflow as tf

    time = tf.shape(inputs[0])[0]
    arrays = [tf.TensorArray(x.dtype, time).unstack(x) for x in inputs]
    # What a step puts out, and of which type, is known when it has been traced.
    outputs: list[Any] = []
    _, specs = tf.nest.map_structure(
        tf.type_spec_from_value, step(state, [x[0] for x in inputs])
    )
    outputs = [tf.TensorArray(s.dtype, time, element_shape=s.shape) for s in specs]

    def body(t: Any, state: list[Any], outputs: list[Any]) -> tuple[Any, Any, Any]:
        now = time - 1 - t if reverse else t
        state, values = step(state, [array.read(now) for array in arrays])
        written = [
            array.write(now, value)
            for array, value in zip(outputs, values, strict=True)
        ]
        return t + 1, state, written

    _, state, outputs = tf.while_loop(
        lambda t, *_: t < time,
        body,
        (tf.constant(0), state, outputs),
        # Tells the gradient how much to reserve.
        maximum_iterations=time,
    )
    return [array.stack() for array in outputs], state
