"""The recurrence over padded rows, on any backend."""

from typing import Any

from keras import ops

from keras_elmo.layers.lstm_step import Reader, State, lstm_step


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

        def step(states: list[Any], now: list[Any]) -> tuple[list[Any], list[Any]]:
            gates, live = now[: len(readers)], now[len(readers) :]
            after = [
                lstm_step(x, State(*state), reader.cell)[0]
                for x, state, reader in zip(gates, states, readers, strict=True)
            ]
            outputs = [state.h for state in after]
            if live:
                after = [
                    _held(live[0], new, old)
                    for new, old in zip(after, states, strict=True)
                ]
            return [list(state) for state in after], outputs

        first = [list(reader.state) for reader in readers]
        gates = [reader.gates for reader in readers]
        last, outputs = ops.scan(step, first, [*gates, *held])
        return outputs, [State(*state) for state in last] if keep_state else []


def _held(live: Any, new: State, old: list[Any]) -> State:
    """The new state where a row is still being read."""
    live = live[:, None]
    return State(ops.where(live, new.h, old[0]), ops.where(live, new.c, old[1]))
