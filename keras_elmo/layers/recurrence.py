"""One step of an LSTM with projection: the arithmetic, whatever runs the loop."""

from typing import Any, NamedTuple, Protocol

import keras
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


class Rows(Protocol):
    """The rows of a batch, laid out for a recurrence to read.

    Made from a `(batch, time)` mask. What it is laid out as is its own affair; the
    last axis stays the last.
    """

    def arrange(self, x: Any, reverse: bool = False) -> Any:
        """Lays a `(batch, time, features)` tensor out.

        Args:
            x: the tensor.
            reverse: whether each row is read from its last live position.
        """

    def restore(self, x: Any, reverse: bool = False) -> Any:
        """Undoes `arrange`; masked positions are 0."""

    def run(
        self, readers: list[Reader], keep_state: bool, training: bool | None
    ) -> tuple[list[Any], list[State]]:
        """Runs several LSTMs side by side.

        Args:
            readers: the LSTMs, of equal sizes and clips; their states are in the
                order of the batch.
            keep_state: whether the last states are asked for.
            training: whether a gradient will be; the results are the same.

        Returns:
            The outputs of each LSTM, laid out, and their last states, if asked for,
            in the order of the batch; a row's is that after its last live position.
        """


def batch_layout(batch: Any, time: Any, mask: Any) -> Rows:
    """Returns the rows of a batch as this backend reads them.

    Args:
        batch: number of rows.
        time: number of positions of a row.
        mask: `(batch, time)` booleans, True for the first positions of a row, or
            `None` for all.
    """
    if keras.backend.backend() == "tensorflow":
        from keras_elmo.layers.packed_rows import PackedLayout

        return PackedLayout(batch, time, mask)
    return PaddedLayout(batch, time, mask)


class PaddedLayout:
    """Lays rows out as `(time, batch, features)`, with their padding.

    See `keras_elmo.layers.recurrence.Rows`.
    """

    def __init__(self, batch: Any, time: Any, mask: Any) -> None:
        self._time = time
        self._mask = mask
        self._lengths = None
        if mask is not None:
            self._lengths = ops.sum(ops.cast(mask, "int32"), axis=1)

    def arrange(self, x: Any, reverse: bool = False) -> Any:
        return ops.transpose(self._reversed(x) if reverse else x, (1, 0, 2))

    def restore(self, x: Any, reverse: bool = False) -> Any:
        x = ops.transpose(x, (1, 0, 2))
        x = self._reversed(x) if reverse else x
        if self._mask is None:
            return x
        return x * ops.cast(self._mask, x.dtype)[..., None]

    def _reversed(self, x: Any) -> Any:
        """Reverses the live positions of each row; its own inverse."""
        if self._lengths is None:
            return ops.flip(x, axis=1)
        step = ops.arange(self._time, dtype="int32")[None, :]
        length = self._lengths[:, None]
        order = ops.where(step < length, length - 1 - step, step)
        return ops.take_along_axis(x, order[..., None], axis=1)

    def run(
        self, readers: list[Reader], keep_state: bool, training: bool | None
    ) -> tuple[list[Any], list[State]]:
        # Padding follows a row's positions in both reading directions, so it reaches
        # nothing but the last state: only who asks for that pays for holding it.
        held = []
        if keep_state and self._mask is not None:
            held = [ops.transpose(self._mask)]
        cell = _side_by_side([reader.cell for reader in readers])

        def step(before: list[Any], now: list[Any]) -> tuple[list[Any], Any]:
            gates, *live = now
            state, _ = lstm_step(gates, State(*before), cell)
            after = _held(live[0], state, before) if live else list(state)
            return after, state.h

        states = zip(*(reader.state for reader in readers), strict=True)
        first = [ops.stack(parts) for parts in states]
        gates = ops.stack([reader.gates for reader in readers], axis=1)
        last, outputs = ops.scan(step, first, [gates, *held])
        pairs = zip(*map(ops.unstack, last), strict=True) if keep_state else []
        return ops.unstack(outputs, axis=1), [State(*pair) for pair in pairs]


def _side_by_side(cells: list[Cell]) -> Cell:
    """Several readers' weights with one more axis, the first.

    A step of one reader is too little for a GPU: together they take half the products.
    """
    return cells[0]._replace(
        kernel=ops.stack([cell.kernel for cell in cells]),
        projection_kernel=ops.stack([cell.projection_kernel for cell in cells]),
    )


def _held(live: Any, new: State, old: list[Any]) -> list[Any]:
    """The new state where a row is still being read."""
    pairs = zip(new, old, strict=True)
    return [ops.where(live[:, None], after, before) for after, before in pairs]
