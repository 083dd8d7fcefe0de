"""One direction of one layer of the biLM."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_elmo.layers.recurrence import (
    BatchLayout,
    Cell,
    LSTMInputs,
    PaddedLayout,
    State,
)
from keras_elmo.utils.fixed import fixed_arguments
from keras_elmo.utils.keras_private import export_format
from keras_elmo.utils.types import Config, Shape, Tensor


def batch_layout(batch: Tensor, time: Tensor, mask: Tensor) -> BatchLayout:
    """Selects the recurrence for the backend, or for an exported model.

    Args:
        batch: number of rows.
        time: number of positions of a row.
        mask: `(batch, time)` booleans, True for the first positions of a row, or
            `None` for all.
    """
    if keras.backend.backend() == "tensorflow":
        if export_format() is not None:
            from keras_elmo.layers.exported_layout import ExportedLayout

            return ExportedLayout(time, mask)
        from keras_elmo.layers.packed_layout import PackedLayout

        return PackedLayout(batch, time, mask)
    return PaddedLayout(time, mask)


@keras.saving.register_keras_serializable("keras_elmo")
@fixed_arguments
class ProjectedLSTM(keras.layers.Layer):
    """An LSTM whose output is projected to fewer units before it is fed back.

    With `i, j, f, o = [x_t; h_(t-1)] W + b`:
    `c_t = clip(sigmoid(f + 1) * c_(t-1) + sigmoid(i) * tanh(j))` and
    `h_t = clip((sigmoid(o) * tanh(c_t)) W_P)`.

    Args:
        units: size of the cell state `c`.
        projection_units: size of the output `h`.
        cell_clip: bound on every element of `c`, or `None`.
        projection_clip: bound on every element of `h`, or `None`.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, features)` float tensor.
        mask: `(batch, time)` booleans, True for the first steps of a row; `None` for
            all steps.
        initial_state: `[h, c]`, `(batch, projection_units)` and `(batch, units)`;
            zeros if `None`.
        training: whether gradients will be asked for; the results do not depend on it.

    Returns:
        `(outputs, [h, c])`: `(batch, time, projection_units)`, 0 in masked steps, and
        the state after a row's last step.

    Reference: Sak et al. 2014, Long Short-Term Memory Recurrent Neural Network
    Architectures for Large Scale Acoustic Modeling, section 2.1.
    """

    def __init__(
        self,
        units: int,
        projection_units: int,
        cell_clip: float | None = 3.0,
        projection_clip: float | None = 3.0,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.projection_units = projection_units
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.supports_masking = True
        # Rows of unequal lengths are shapes that XLA cannot compile.
        self.supports_jit = keras.backend.backend() != "tensorflow"

    def build(self, inputs_shape: Shape) -> None:
        features = inputs_shape[-1]
        if features is None:
            raise ValueError(
                "`inputs` must have a known last axis. "
                f"Received: inputs.shape={inputs_shape}"
            )
        # Rows are [input; hidden], columns the gates i, j, f, o: the published
        # layout, in which import and export are copies.
        self.kernel = self.add_weight(
            name="kernel",
            shape=(features + self.projection_units, 4 * self.units),
            initializer="glorot_uniform",
        )
        self.bias = self.add_weight(
            name="bias", shape=(4 * self.units,), initializer="zeros"
        )
        self.projection_kernel = self.add_weight(
            name="projection_kernel",
            shape=(self.units, self.projection_units),
            initializer="glorot_uniform",
        )

    def call(
        self,
        inputs: Tensor,
        mask: Tensor = None,
        initial_state: Sequence[Tensor] | None = None,
        training: bool | None = None,
        inputs_mask: Tensor = None,
    ) -> tuple[Tensor, list[Tensor]]:
        mask = inputs_mask if mask is None else mask
        batch, time = ops.shape(inputs)[:2]
        layout = batch_layout(batch, time, mask)
        state = self.zero_state(batch)
        if initial_state is not None:
            state = State(*initial_state)
        lstm = self.lstm_inputs(layout.pack(inputs), state)
        (outputs,), (last,) = layout.run_lstm([lstm], True, training)
        return layout.unpack(outputs), list(last)

    def zero_state(self, batch: Tensor) -> State:
        """Returns the state before the first step of `batch` rows."""
        return State(
            ops.zeros((batch, self.projection_units), self.compute_dtype),
            ops.zeros((batch, self.units), "float32"),
        )

    def lstm_inputs(self, inputs: Tensor, state: State) -> LSTMInputs:
        """Returns what the recurrence runs on, for packed `(..., features)` inputs."""
        # One matrix product for all steps: this part needs no previous output.
        gates = ops.matmul(inputs, self.kernel[: inputs.shape[-1]]) + self.bias
        cell = Cell(
            self.kernel[-self.projection_units :],
            self.projection_kernel,
            self.cell_clip,
            self.projection_clip,
        )
        h, c = ops.cast(state.h, gates.dtype), ops.cast(state.c, "float32")
        return LSTMInputs(gates, cell, State(h, c))

    def compute_output_spec(
        self,
        inputs: Tensor,
        mask: Tensor = None,
        initial_state: Sequence[Tensor] | None = None,
        training: bool | None = None,
        inputs_mask: Tensor = None,
    ) -> tuple[Tensor, list[Tensor]]:
        outputs, (h, c) = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(outputs, self.compute_dtype), [
            keras.KerasTensor(h, self.compute_dtype),
            keras.KerasTensor(c, "float32"),
        ]

    def compute_output_shape(self, inputs_shape: Shape) -> tuple[Shape, list[Shape]]:
        batch, time, _ = inputs_shape
        states: list[Shape] = [(batch, self.projection_units), (batch, self.units)]
        return (batch, time, self.projection_units), states

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor = None) -> Tensor:
        # The first output carries it; a state has no time axis to mask.
        return previous_mask

    def get_config(self) -> Config:
        return {
            **super().get_config(),
            "units": self.units,
            "projection_units": self.projection_units,
            "cell_clip": self.cell_clip,
            "projection_clip": self.projection_clip,
        }
