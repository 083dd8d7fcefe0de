"""The recurrence of an LSTM: its step, and the loop on any backend.

The step is written here, and once more in ONNX. `batch_layout` of bilm.py chooses the
loop in Keras:

    where                  loop                          because
    JAX, PyTorch           `PaddedLayout`, below         Keras's own loop compiles
    TensorFlow             `PackedLayout`                half of a batch is padding, and
                           packed_recurrence.py          a gradient by hand adds up the
                                                         weights' once, not at each step
    TensorFlow with XLA    `CompiledLayout`              XLA wants equal shapes
    LiteRT, OpenVINO, and  `ExportedLayout`              these runtimes have few loops
    Keras models in ONNX   exported_scan.py
    encoders in ONNX       onnx_graphs/                  packed rows are faster there,
                           recurrence_graph.py           and products may be int8
    LSTMs of tasks         onnx_graphs/heads.py          ONNX has the operator, without
    in ONNX                                              projections and clips
"""

from typing import NamedTuple

from keras import ops

from keras_elmo.utils.types import Tensor


class State(NamedTuple):
    """What a step passes on to the next one.

    Attributes:
        h: `(rows, projection_units)`, the output; without a projection `(rows, units)`.
        c: `(rows, units)` float32, the cell state.
    """

    h: Tensor
    c: Tensor


class Cell(NamedTuple):
    """The weights and bounds of an LSTM.

    The weights of several LSTMs may be stacked along a first axis; then all that a step
    is given has that axis.

    Attributes:
        kernel: `(projection_units, 4 * units)`, from the previous output to the gates
            i, j, f, o. Further columns are ignored.
        projection_kernel: `(units, projection_units)`, or `None`.
        cell_clip: bound on every element of the cell state, or `None`.
        projection_clip: bound on every element of the output, or `None`.
    """

    kernel: Tensor
    projection_kernel: Tensor | None
    cell_clip: float | None = None
    projection_clip: float | None = None

    @property
    def weights(self) -> list[Tensor]:
        """The kernel and, if there is one, the projection."""
        weights = [self.kernel, self.projection_kernel]
        return [weight for weight in weights if weight is not None]

    def of_weights(self, kernel: Tensor, projection_kernel: Tensor = None) -> "Cell":
        """Returns a cell with other weights."""
        return self._replace(kernel=kernel, projection_kernel=projection_kernel)

    @property
    def sizes(self) -> tuple[int, int]:
        """The units of the state, and of the output."""
        if self.projection_kernel is None:
            return (self.kernel.shape[-2],) * 2
        return tuple(self.projection_kernel.shape[-2:])


class LSTMInputs(NamedTuple):
    """What an LSTM is run on.

    Attributes:
        gates: packed, `4 * units` features: inputs and bias, multiplied already.
        cell: the weights.
    """

    gates: Tensor
    cell: Cell


def zero_state(lstm: LSTMInputs, *rows: Tensor) -> State:
    """Returns the state before the first step; `rows` are its leading axes."""
    units, output_units = lstm.cell.sizes
    return State(
        ops.zeros((*rows, output_units), lstm.gates.dtype),
        ops.zeros((*rows, units), "float32"),
    )


def lstm_step(x: Tensor, state: State, cell: Cell) -> tuple[State, list[Tensor]]:
    """Computes the next state, and the activated gates for its gradient.

    Args:
        x: `(rows, 4 * units)`, what the inputs and the bias contribute to the gates.
        state: of the same rows.
        cell: the weights.

    Returns:
        The new state, and `[i, j, f, o]`, each `(rows, units)`.
    """
    h, c = state
    # Each product may be of a low precision, their sum is not.
    recurrent = ops.matmul(h, cell.kernel)[..., : x.shape[-1]]
    z = ops.cast(x, c.dtype) + ops.cast(recurrent, c.dtype)
    i, j, f, o = ops.split(z, 4, axis=-1)
    i, j, f, o = ops.sigmoid(i), ops.tanh(j), ops.sigmoid(f + 1), ops.sigmoid(o)
    new_c = _clip(f * c + i * j, cell.cell_clip)
    new_h = ops.cast(o * ops.tanh(new_c), h.dtype)
    if cell.projection_kernel is not None:
        new_h = ops.matmul(new_h, cell.projection_kernel)
    return State(_clip(new_h, cell.projection_clip), new_c), [i, j, f, o]


def leading(mask: Tensor) -> Tensor:
    """Returns which positions precede the first masked one in their row.

    The layouts below expect all padding at the end of a row.
    """
    masked = ops.cast(ops.logical_not(ops.cast(mask, "bool")), "int32")
    return ops.equal(ops.cumsum(masked, axis=1), 0)


def _clip(x: Tensor, bound: float | None) -> Tensor:
    return x if bound is None else ops.clip(x, -bound, bound)


class PaddedLayout:
    """How a batch is laid out while LSTMs run: `(time, batch, features)`, padded."""

    def __init__(self, time: Tensor, mask: Tensor) -> None:
        self._time = time
        self._mask = mask

    def pack(self, x: Tensor, reverse: bool = False) -> Tensor:
        """Lays out `(batch, time, features)`; reversed, rows begin with their last."""
        return ops.transpose(self._reversed(x) if reverse else x, (1, 0, 2))

    def unpack(self, x: Tensor, reverse: bool = False) -> Tensor:
        """Undoes `pack`; masked positions are 0."""
        x = ops.transpose(x, (1, 0, 2))
        x = self._reversed(x) if reverse else x
        if self._mask is None:
            return x
        # Not a product: what is masked may not be a number.
        mask = ops.expand_dims(ops.cast(self._mask, "bool"), -1)
        return ops.where(mask, x, ops.zeros_like(x))

    def _reversed(self, x: Tensor) -> Tensor:
        """Reverses the unmasked positions of each row; its own inverse."""
        if self._mask is None:
            return ops.flip(x, axis=1)
        step = ops.arange(self._time, dtype="int32")[None, :]
        length = ops.sum(ops.cast(self._mask, "int32"), axis=1)[:, None]
        order = ops.where(step < length, length - 1 - step, step)
        return ops.take_along_axis(x, order[..., None], axis=1)

    def run_lstm(self, lstms: list[LSTMInputs], training: bool | None) -> list[Tensor]:
        """Runs LSTMs of equal sizes and clips side by side, from a state of zeros.

        Where gradients are written by hand, `training` says whether one will be asked
        for; the results are the same.
        """
        # One product of stacked weights keeps a GPU busier than one for each LSTM.
        weights = zip(*(lstm.cell.weights for lstm in lstms), strict=True)
        cell = lstms[0].cell.of_weights(*map(ops.stack, weights))

        # Padding follows a row's positions in both directions, so it reaches nothing.
        def step(state: list[Tensor], gates: Tensor) -> tuple[list[Tensor], Tensor]:
            new, _ = lstm_step(gates, State(*state), cell)
            return list(new), new.h

        first = zero_state(lstms[0], len(lstms), ops.shape(lstms[0].gates)[1])
        gates = ops.stack([lstm.gates for lstm in lstms], axis=1)
        _, outputs = ops.scan(step, list(first), gates)
        return ops.unstack(outputs, axis=1)
