"""The recurrence over packed positions, and its gradient (TensorFlow).

Differentiating the loop automatically adds up a weight gradient at every step. Here
the loop backwards computes only what depends on the step after it; one matrix product
over all steps then gives each weight's gradient.
"""

from collections.abc import Callable, Sequence

from keras_elmo.layers.packed_steps import EqualSteps, PackedSteps
from keras_elmo.layers.recurrence import Cell, LSTMInputs, State, lstm_step, zero_state
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor

Steps = PackedSteps | EqualSteps


def run_lstm(steps: Steps, lstms: Sequence[LSTMInputs]) -> list[Tensor]:
    """Runs LSTMs of packed gates `(positions, 4 * units)`, side by side."""
    return [steps.joined(h) for (h,) in _recorded(steps, lstms, record=False)]


def _recorded(
    steps: Steps, lstms: Sequence[LSTMInputs], record: bool
) -> list[list[tf.TensorArray]]:
    """Returns for each LSTM an array with `h` of each step.

    With `record`, arrays of `c, i, j, f, o` and of the `c` before the step follow, for
    the gradient.
    """
    cells = [
        lstm.cell._replace(kernel=steps.fast_kernel(lstm.cell.kernel)) for lstm in lstms
    ]

    def step(t: Tensor, states: list[State]) -> tuple[list[State], list[list[Tensor]]]:
        after, values = [], []
        for lstm, cell, before in zip(lstms, cells, states, strict=True):
            live = State(*(steps.live(part, t) for part in before))
            state, activated = lstm_step(steps.of_step(lstm.gates, t), live, cell)
            kept = [state.c, *activated, live.c] if record else []
            values.append([state.h, *kept])
            after.append(state)
        return after, values

    first = [zero_state(lstm, steps.num_rows) for lstm in lstms]
    output_spec = [[h, *[c] * 6] if record else [h] for h, c in first]
    return _scan(steps, step, first, output_spec)


def _scan(
    steps: Steps,
    step: Callable[..., tuple[list[State], Tensor]],
    states: list[State],
    output_spec: Tensor,
    reverse: bool = False,
) -> Tensor:
    """Applies a function to one step after the other; returns arrays of its outputs.

    The function is `(t, states) -> (states, outputs)`. The rows of the states may
    change. `output_spec` has a tensor of the type and width of each output.
    """
    num_steps, rows = steps.num_steps, steps.known_rows
    arrays = tf.nest.map_structure(
        lambda x: tf.TensorArray(
            x.dtype, num_steps, infer_shape=False, element_shape=[rows, x.shape[-1]]
        ),
        output_spec,
    )

    def body(k: Tensor, states: list[State], arrays: Tensor) -> Tensor:
        t = num_steps - 1 - k if reverse else k
        states, outputs = step(t, states)
        arrays = tf.nest.map_structure(lambda a, x: a.write(t, x), arrays, outputs)
        return k + 1, states, arrays

    *_, arrays = tf.while_loop(
        lambda k, *_: k < num_steps,
        body,
        (tf.constant(0), states, arrays),
        shape_invariants=(
            tf.TensorShape([]),
            tf.nest.map_structure(
                lambda x: tf.TensorShape([rows, x.shape[-1]]), states
            ),
            tf.nest.map_structure(lambda a: tf.TensorShape(None), arrays),
        ),
        # Tells the gradient how much to reserve.
        maximum_iterations=num_steps,
    )
    return arrays


def run_lstm_with_gradient(steps: Steps, lstms: Sequence[LSTMInputs]) -> list[Tensor]:
    """Runs LSTMs as `run_lstm` does; its gradient is computed by hand.

    Reference: Hochreiter and Schmidhuber 1997, Long Short-Term Memory, appendix.
    """

    tensors = [[lstm.gates, *lstm.cell.weights] for lstm in lstms]

    # TensorFlow wants flat lists here: one LSTM's tensors, then the next one's.
    @tf.custom_gradient
    def recurrence(*flat: Tensor) -> Tensor:
        own = [
            LSTMInputs(gates, lstm.cell.of_weights(*weights))
            for lstm, (gates, *weights) in zip(
                lstms, tf.nest.pack_sequence_as(tensors, flat), strict=True
            )
        ]
        recorded = _recorded(steps, own, record=True)
        outputs = [steps.joined(h) for h, *_ in recorded]

        def gradient(*upstream: Tensor) -> list[Tensor]:
            return _gradient(steps, own, outputs, recorded, upstream)

        return outputs, gradient

    return recurrence(*tf.nest.flatten(tensors))


def _gradient(
    steps: Steps,
    lstms: Sequence[LSTMInputs],
    outputs: Sequence[Tensor],
    recorded: Sequence[Sequence[tf.TensorArray]],
    d_outputs: Sequence[Tensor],
) -> list[Tensor]:
    """Returns gradients for the gates, the kernel and any projection of each LSTM."""
    zeros = [zero_state(lstm, steps.num_rows) for lstm in lstms]
    earlier = [
        steps.previous(zero.h, later)
        for zero, later in zip(zeros, outputs, strict=True)
    ]
    # Transposed once, not by the product of each step.
    transposed = [
        cell.of_weights(*map(tf.transpose, cell.weights)) for _, cell in lstms
    ]

    def back(t: Tensor, states: list[State]) -> tuple[list[State], list[list[Tensor]]]:
        d_states, values = [], []
        for d, cell, d_output, record in zip(
            states, transposed, d_outputs, recorded, strict=True
        ):
            d_h = steps.live(d.h, t) + steps.of_step(d_output, t)
            live = State(d_h, steps.live(d.c, t))
            d_before, computed = _step_back(live, cell, *(x.read(t) for x in record))
            pairs = zip(d_before, d, strict=True)
            d_states.append(State(*(steps.replaced(*pair, t) for pair in pairs)))
            values.append(computed)
        return d_states, values

    output_spec = []
    for (h, c), (_, cell) in zip(zeros, lstms, strict=True):
        hidden = tf.cast(c, h.dtype)
        projected = [] if cell.projection_kernel is None else [h, hidden]
        output_spec.append([tf.concat([hidden] * 4, axis=-1), *projected])
    arrays = _scan(steps, back, zeros, output_spec, reverse=True)
    computed = tf.nest.map_structure(steps.joined, arrays)
    gradients = []
    for (d_z, *projected), h_before in zip(computed, earlier, strict=True):
        gradients += [d_z, tf.matmul(h_before, d_z, transpose_a=True)]
        if projected:
            d_h, hidden = projected
            gradients.append(tf.matmul(hidden, d_h, transpose_a=True))
    return gradients


def _step_back(
    d: State,
    cell: Cell,
    h: Tensor,
    c: Tensor,
    i: Tensor,
    j: Tensor,
    f: Tensor,
    o: Tensor,
    c_before: Tensor,
) -> tuple[State, list[Tensor]]:
    """Returns the gradient of the state before a step, and what the weights' need.

    The weights need the gradient of the gates; with a projection, the gradient of the
    output and the input of the projection, too.
    """
    # Kernels that multiply by the derivative of an activation whose value is y.
    sigmoid, tanh = tf.raw_ops.SigmoidGrad, tf.raw_ops.TanhGrad
    d_h = _clip_gradient(h, cell.projection_clip, d.h)
    d_hidden = d_h
    if cell.projection_kernel is not None:
        d_hidden = tf.matmul(d_h, cell.projection_kernel)
    d_hidden = tf.cast(d_hidden, c.dtype)
    tanh_c = tf.tanh(c)
    d_c = _clip_gradient(c, cell.cell_clip, d.c + tanh(y=tanh_c, dy=d_hidden * o))
    d_z = tf.concat(
        [
            sigmoid(y=i, dy=d_c * j),
            tanh(y=j, dy=d_c * i),
            sigmoid(y=f, dy=d_c * c_before),
            sigmoid(y=o, dy=d_hidden * tanh_c),
        ],
        axis=-1,
    )
    d_z = tf.cast(d_z, d_h.dtype)
    d_before = State(tf.matmul(d_z, cell.kernel), d_c * f)
    if cell.projection_kernel is None:
        return d_before, [d_z]
    return d_before, [d_z, d_h, tf.cast(o * tanh_c, d_h.dtype)]


def _clip_gradient(x: Tensor, bound: float | None, gradient: Tensor) -> Tensor:
    """The gradient is 0 where a value was clipped."""
    if bound is None:
        return gradient
    return tf.where(tf.abs(x) < bound, gradient, tf.zeros([], gradient.dtype))
