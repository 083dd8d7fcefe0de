"""The recurrence in operators that LiteRT, ONNX and OpenVINO have."""

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
        # Variables are read once, not at every step.
        cells = [
            lstm.cell._replace(
                kernel=tf.convert_to_tensor(lstm.cell.kernel),
                projection_kernel=tf.convert_to_tensor(lstm.cell.projection_kernel),
            )
            for lstm in lstms
        ]
        shape = tf.shape(lstms[0].gates)
        num_steps, batch = shape[0], shape[1]
        states = [zero_state(lstm, batch) for lstm in lstms]
        # Outputs are concatenated, because LiteRT has no arrays of tensors whose size
        # is not known: at the length of a sentence that costs nothing. They begin with
        # one that is dropped, because its tensors must not be empty either.
        outputs = [tf.expand_dims(state.h, 0) for state in states]

        def step(k: Tensor, states: list[State], outputs: list[Tensor]) -> Tensor:
            after = [
                lstm_step(lstm.gates[k], state, cell)[0]
                for lstm, state, cell in zip(lstms, states, cells, strict=True)
            ]
            outputs = [
                tf.concat([before, tf.expand_dims(state.h, 0)], axis=0)
                for before, state in zip(outputs, after, strict=True)
            ]
            return k + 1, after, outputs

        *_, outputs = tf.while_loop(
            lambda k, *_: k < num_steps,
            step,
            (tf.constant(0), states, outputs),
            shape_invariants=(
                tf.TensorShape([]),
                tf.nest.map_structure(lambda x: x.shape, states),
                [tf.TensorShape([None, *x.shape[1:]]) for x in outputs],
            ),
        )
        return [output[1:] for output in outputs]
