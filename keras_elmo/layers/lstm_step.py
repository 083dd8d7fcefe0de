"""One step of an LSTM with projection: the arithmetic, whatever runs the loop."""

from typing import Any, NamedTuple

from keras import ops


class Cell(NamedTuple):
    """What one direction of one layer computes its steps with.

    The weights may have one more axis, the first, of several readers side by side; then
    so has all that a step is given.

    Attributes:
        kernel: `(projection_units, 4 * units)`, from the output before to the gates
            i, j, f, o. More columns, which count for nothing, are allowed.
        projection_kernel: `(units, projection_units)`.
        cell_clip: bound on every element of the cell state, or `None`.
        projection_clip: bound on every element of the output, or `None`.
    """

    kernel: Any
    projection_kernel: Any
    cell_clip: float | None
    projection_clip: float | None


class State(NamedTuple):
    """What a step leaves to the next one.

    Attributes:
        h: `(rows, projection_units)`, the output.
        c: `(rows, units)` float32, the cell state.
    """

    h: Any
    c: Any


class Reader(NamedTuple):
    """An LSTM that is about to read.

    Attributes:
        gates: what its inputs and its bias contribute to its gates, laid out.
        cell: its weights.
        state: what it starts from.
    """

    gates: Any
    cell: Cell
    state: State


def lstm_step(x: Any, state: State, cell: Cell) -> tuple[State, list[Any]]:
    """Computes the next state and, for its gradient, the activated gates.

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
    new_h = ops.matmul(ops.cast(o * ops.tanh(new_c), h.dtype), cell.projection_kernel)
    return State(_clip(new_h, cell.projection_clip), new_c), [i, j, f, o]


def _clip(x: Any, bound: float | None) -> Any:
    return x if bound is None else ops.clip(x, -bound, bound)
