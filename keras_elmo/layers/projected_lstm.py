"""One direction of one layer of the biLM."""

import keras
from keras import ops

from keras_elmo.layers.freezing import freezable
from keras_elmo.layers.recurrence import BatchLayout, Cell, LSTMInputs, PaddedLayout
from keras_elmo.utils.keras_private import export_format
from keras_elmo.utils.types import Tensor
from keras_elmo.utils.xla import is_compiled


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
        from keras_elmo.layers.packed_layout import CompiledLayout, PackedLayout

        layout = CompiledLayout if is_compiled() else PackedLayout
        return layout(batch, time, mask)
    return PaddedLayout(time, mask)


@freezable
class ProjectedLSTM(keras.layers.Layer):
    """The weights of an LSTM whose output is projected before it is fed back.

    With `i, j, f, o = [x_t; h_(t-1)] W + b`:
    `c_t = clip(sigmoid(f + 1) * c_(t-1) + sigmoid(i) * tanh(j))` and
    `h_t = clip((sigmoid(o) * tanh(c_t)) W_P)`.

    It is not called: `BiLM` runs both directions in one loop.

    Args:
        units: size of the cell state `c`.
        projection_units: size of the output `h`.
        cell_clip: bound on every element of `c`, or `None`.
        projection_clip: bound on every element of `h`, or `None`.
        **kwargs: arguments of `keras.layers.Layer`.

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

    def build(self, inputs_shape: tuple[None, None, int]) -> None:
        # Rows are [input; hidden], columns the gates i, j, f, o: the published
        # layout, in which import and export are copies.
        self.kernel = self.add_weight(
            name="kernel",
            shape=(inputs_shape[-1] + self.projection_units, 4 * self.units),
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

    def lstm_inputs(self, inputs: Tensor) -> LSTMInputs:
        """Returns what the recurrence runs on, for packed `(..., features)` inputs."""
        # One matrix product for all steps: this part needs no previous output.
        gates = ops.matmul(inputs, self.kernel[: inputs.shape[-1]]) + self.bias
        cell = Cell(
            self.kernel[-self.projection_units :],
            self.projection_kernel,
            self.cell_clip,
            self.projection_clip,
        )
        return LSTMInputs(gates, cell)
