"""The layouts of a batch on TensorFlow: packed, for XLA, and for other runtimes.

In the order of the batch half of the positions are padding. Packed, the rows are sorted
by length, longest first, and a step holds those that reach it.
"""

import functools
from collections.abc import Callable

from keras_elmo.layers.exported_scan import scan
from keras_elmo.layers.packed_recurrence import run_lstm, run_lstm_with_gradient
from keras_elmo.layers.packed_steps import EqualSteps, PackedSteps
from keras_elmo.layers.recurrence import (
    LSTMInputs,
    PaddedLayout,
    State,
    lstm_step,
    zero_state,
)
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Shape, Tensor


class PackedLayout:
    """Does what `PaddedLayout` does, in `(unmasked positions, features)`."""

    def __init__(self, batch: Tensor, time: Tensor, mask: Tensor) -> None:
        if mask is None:
            lengths = tf.fill([batch], time)
        else:
            lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        self._shape = (batch, time)
        order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        lengths = tf.gather(lengths, order)
        # A batch without any position has one step of no rows.
        num_steps = tf.maximum(tf.reduce_max(lengths), 1)
        live = tf.range(num_steps)[:, tf.newaxis] < lengths
        step, rank = tf.unstack(tf.cast(tf.where(live), tf.int32), axis=1)
        sizes = tf.math.count_nonzero(live, axis=1, dtype=tf.int32)
        starts = tf.cumsum(sizes, exclusive=True)
        self._steps = PackedSteps(sizes, starts, rank)
        row = tf.gather(order, rank) * time
        # The index of each packed position in the flattened batch.
        self._forward = row + step
        self._backward = row + tf.gather(lengths, rank) - 1 - step

    def pack(self, x: Tensor, reverse: bool = False) -> Tensor:
        x = tf.reshape(x, [-1, x.shape[-1]])
        return _gather(x, self._backward if reverse else self._forward)

    def unpack(self, x: Tensor, reverse: bool = False) -> Tensor:
        batch, time = self._shape
        indices = self._backward if reverse else self._forward
        flat = _scatter(x, indices, batch * time)
        return tf.reshape(flat, [batch, time, x.shape[-1]])

    def run_lstm(self, lstms: list[LSTMInputs], training: bool | None) -> list[Tensor]:
        lstms = [_read(lstm) for lstm in lstms]
        run = _as_graph(run_lstm_with_gradient if training else run_lstm, lstms)
        return run(self._steps, lstms)


class ExportedLayout(PaddedLayout):
    """A `PaddedLayout` whose loop LiteRT, ONNX and OpenVINO can run, for inference."""

    def _reversed(self, x: Tensor) -> Tensor:
        if self._mask is None:
            return tf.reverse(x, [1])
        lengths = tf.reduce_sum(tf.cast(self._mask, tf.int32), axis=1)
        return tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0)

    def run_lstm(self, lstms: list[LSTMInputs], training: bool | None) -> list[Tensor]:
        return [_run_exported(_read(lstm)) for lstm in lstms]


class CompiledLayout(ExportedLayout):
    """A layout that XLA can compile: `(time * batch, features)`."""

    def __init__(self, batch: int, time: int, mask: Tensor) -> None:
        super().__init__(time, mask)
        self._steps = EqualSteps(time, batch)

    def pack(self, x: Tensor, reverse: bool = False) -> Tensor:
        return tf.reshape(super().pack(x, reverse), [-1, x.shape[-1]])

    def unpack(self, x: Tensor, reverse: bool = False) -> Tensor:
        return super().unpack(tf.reshape(x, [*self._steps, x.shape[-1]]), reverse)

    def run_lstm(self, lstms: list[LSTMInputs], training: bool | None) -> list[Tensor]:
        run = run_lstm_with_gradient if training else run_lstm
        return run(self._steps, [_read(lstm) for lstm in lstms])


def _read(lstm: LSTMInputs) -> LSTMInputs:
    """Reads variables once for all steps."""
    read = map(tf.convert_to_tensor, lstm.cell.weights)
    return lstm._replace(cell=lstm.cell.of_weights(*read))


def _run_exported(lstm: LSTMInputs) -> Tensor:
    if lstm.gates.dtype != tf.float32:
        raise ValueError(
            "an exported model must compute in float32: rebuild it with "
            f"encoder.with_dtype('float32'). Received: {lstm.gates.dtype.name}"
        )

    def step(state: list[Tensor], gates: Tensor) -> tuple[list[Tensor], Tensor]:
        after, _ = lstm_step(gates, State(*state), lstm.cell)
        return list(after), after.h

    first = zero_state(lstm, tf.shape(lstm.gates)[1])
    _, outputs = scan(step, list(first), lstm.gates)
    return outputs


def _as_graph(
    function: Callable[..., Tensor], lstms: list[LSTMInputs]
) -> Callable[..., Tensor]:
    """Outside of a graph every op of every step would be a call from Python."""
    if tf.inside_function():
        return function
    return _graph_of_sizes(function, *(lstm.cell.sizes for lstm in lstms))


@functools.cache
def _graph_of_sizes(
    function: Callable[..., Tensor], *sizes: Shape
) -> Callable[..., Tensor]:
    """A graph for each combination of sizes: one for all would know none."""
    return tf.function(function, autograph=False, reduce_retracing=True)


@tf.custom_gradient
def _gather(x: Tensor, indices: Tensor) -> Tensor:
    """Gathers rows, none of them twice, so that the gradient needs no sum."""

    def gradient(upstream: Tensor) -> tuple[Tensor, None]:
        return _scatter(upstream, indices, tf.shape(x)[0]), None

    return tf.gather(x, indices), gradient


def _scatter(x: Tensor, indices: Tensor, num_rows: Tensor) -> Tensor:
    return tf.scatter_nd(indices[:, tf.newaxis], x, [num_rows, x.shape[-1]])
