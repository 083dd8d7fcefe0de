"""The recurrence in operators that LiteRT, ONNX and OpenVINO have."""

from keras_elmo.layers.exported_scan import scan
from keras_elmo.layers.packed_layout import reversed_rows
from keras_elmo.layers.recurrence import (
    LSTMInputs,
    PaddedLayout,
    State,
    lstm_step,
    zero_state,
)
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor


class ExportedLayout(PaddedLayout):
    """A `PaddedLayout` whose loop any runtime can run, for inference."""

    def _reversed(self, x: Tensor) -> Tensor:
        return reversed_rows(x, self._mask)

    def run_lstm(self, lstms: list[LSTMInputs], training: bool | None) -> list[Tensor]:
        for lstm in lstms:
            if lstm.gates.dtype != tf.float32:
                raise ValueError(
                    "an exported model must compute in float32: rebuild it with "
                    f"encoder.with_dtype('float32'). Received: {lstm.gates.dtype.name}"
                )
        return [_outputs(lstm) for lstm in lstms]


def _outputs(lstm: LSTMInputs) -> Tensor:
    # Variables are read once, not at every step.
    cell = lstm.cell._replace(
        kernel=tf.convert_to_tensor(lstm.cell.kernel),
        projection_kernel=tf.convert_to_tensor(lstm.cell.projection_kernel),
    )

    def step(state: list[Tensor], gates: Tensor) -> tuple[list[Tensor], Tensor]:
        after, _ = lstm_step(gates, State(*state), cell)
        return list(after), after.h

    first = zero_state(lstm, tf.shape(lstm.gates)[1])
    _, outputs = scan(step, list(first), lstm.gates)
    return outputs
