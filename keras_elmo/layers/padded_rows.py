"""The recurrence over padded rows, on any backend."""

from typing import Any

from keras import ops

from keras_elmo.layers.lstm_step import Cell, Reader, State, lstm_step


class PaddedRows:
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
