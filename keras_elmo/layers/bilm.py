"""The bidirectional language model: stacked LSTMs over token embeddings."""

from typing import TYPE_CHECKING, Union

import keras
from keras import ops

from keras_elmo.layers.recurrence import Cell, LSTMInputs, PaddedLayout, leading
from keras_elmo.utils.checks import check_at_least, check_positive, check_rate
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.keras_private import export_format
from keras_elmo.utils.one_graph import is_compiled
from keras_elmo.utils.types import Shape, Tensor

if TYPE_CHECKING:
    from keras_elmo.layers.packed_layout import PackedLayout


def batch_layout(
    batch: Tensor, time: Tensor, mask: Tensor
) -> Union[PaddedLayout, "PackedLayout"]:
    """Selects the recurrence for the backend, or for an exported model.

    `mask` is `(batch, time)` booleans, True for the first positions of a row.
    """
    if keras.backend.backend() != "tensorflow":
        return PaddedLayout(time, mask)
    from keras_elmo.layers import packed_layout

    if export_format() is not None:
        return packed_layout.ExportedLayout(time, mask)
    if is_compiled():
        return packed_layout.CompiledLayout(batch, time, mask)
    return packed_layout.PackedLayout(batch, time, mask)


def run_bilstm(
    layer: keras.layers.Bidirectional,
    x: Tensor,
    mask: Tensor,
    training: bool | None = None,
) -> Tensor:
    """Runs Keras's LSTMs in both directions on `(batch, tokens, features)`.

    A row ends before its first masked position. Returns `(batch, tokens, 2 * units)`, 0
    where masked. The layer itself would multiply by all its weights at each step, and
    add up their gradients there.
    """
    x = ops.cast(x, layer.compute_dtype)
    batch, tokens = ops.shape(x)[:2]
    layout = batch_layout(batch, tokens, leading(mask))
    cells = [layer.forward_layer.cell, layer.backward_layer.cell]
    packed = [layout.pack(x), layout.pack(x, reverse=True)]
    lstms = [_lstm_inputs(*pair) for pair in zip(cells, packed, strict=True)]
    forward, backward = layout.run_lstm(lstms, training)
    both = [layout.unpack(forward), layout.unpack(backward, reverse=True)]
    return ops.concatenate(both, axis=-1)


def _lstm_inputs(cell: keras.layers.LSTMCell, inputs: Tensor) -> LSTMInputs:
    """Puts Keras's gates i, f, j, o in our order; a step adds 1 to f."""
    weights = (cell.kernel, cell.recurrent_kernel, cell.bias)
    kernel, recurrent_kernel, bias = (
        ops.convert_to_tensor(weight, inputs.dtype) for weight in weights
    )
    i, f, j, o = ops.split(ops.matmul(inputs, kernel) + bias, 4, axis=-1)
    gates = ops.concatenate([i, j, f - 1, o], axis=-1)
    i, f, j, o = ops.split(recurrent_kernel, 4, axis=-1)
    return LSTMInputs(gates, Cell(ops.concatenate([i, j, f, o], axis=-1), None))


@keras_class
class ProjectedLSTM(keras.layers.Layer):
    """The weights of an LSTM whose output is projected before it is fed back.

    With `i, j, f, o = [x_t; h_(t-1)] W + b`:
    `c_t = clip(sigmoid(f + 1) * c_(t-1) + sigmoid(i) * tanh(j))` and
    `h_t = clip((sigmoid(o) * tanh(c_t)) W_P)`.

    It is not called: `BiLM` runs both directions in one loop.

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


@keras_class
class BiLM(keras.layers.Layer):
    """Stacked LSTMs over token embeddings, in both directions; returns every layer.

    `h_(k,0) = [x_k; x_k]` and `h_(k,j) = [forward_(k,j); backward_(k,j)]`, where layer
    j of a direction reads layer j - 1 of the same direction. Each sentence starts from
    a state of zeros.

    Args:
        units: size of the cell state.
        projection_units: size of the token embeddings and of each direction's output.
        num_layers: LSTM layers.
        cell_clip: bound on every element of the cell state, or `None`.
        projection_clip: bound on every element of an LSTM's output, or `None`.
        skip_connections: whether every LSTM layer but the first adds its input to its
            output; the sum is neither clipped nor fed back.
        dropout: rate, on the input of every LSTM layer, while training.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, tokens, projection_units)` token embeddings.
        mask: `(batch, tokens)` booleans, `None` for all; a row ends before its first
            masked position.
        training: whether dropout is applied.

    Returns:
        List of `num_layers + 1` tensors `(batch, tokens, 2 * projection_units)`, 0 in
        masked positions.

    Masking: passed on to every layer.

    Raises:
        ValueError: the inputs do not have `projection_units` elements.

    Example:

    ```python
    bilm = keras_elmo.BiLM(units=16, projection_units=8, num_layers=2)
    token_vectors = np.random.default_rng(0).normal(size=(2, 5, 8))
    mask = np.array([[True] * 5, [True] * 3 + [False] * 2])
    layers = bilm(token_vectors.astype("float32"), mask=mask)
    assert [layer.shape for layer in layers] == [(2, 5, 16)] * 3
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, sections
    3.1 and 3.4.
    """

    def __init__(
        self,
        units: int,
        projection_units: int,
        num_layers: int = 2,
        cell_clip: float | None = 3.0,
        projection_clip: float | None = 3.0,
        skip_connections: bool = True,
        dropout: float = 0.0,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        check_at_least(1, units=units, projection_units=projection_units)
        check_at_least(1, num_layers=num_layers)
        check_positive(cell_clip=cell_clip, projection_clip=projection_clip)
        check_rate(dropout=dropout)
        self.units = units
        self.projection_units = projection_units
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.skip_connections = skip_connections
        self.dropout = dropout
        self.supports_masking = True
        # Rows of unequal lengths are shapes that XLA cannot compile.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.forward_layers = self._one_direction("forward")
        self.backward_layers = self._one_direction("backward")
        self.input_dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def _one_direction(self, direction: str) -> list[ProjectedLSTM]:
        return [
            ProjectedLSTM(
                self.units,
                self.projection_units,
                self.cell_clip,
                self.projection_clip,
                name=f"{direction}_{k}",
                dtype=self.dtype_policy,
                trainable=self.trainable,
            )
            for k in range(self.num_layers)
        ]

    def build(self, inputs_shape: Shape) -> None:
        if inputs_shape[-1] != self.projection_units:
            raise ValueError(
                "`inputs` must have `projection_units` elements, for the layers' sizes "
                f"to agree. Received: inputs.shape={inputs_shape}, "
                f"projection_units={self.projection_units}"
            )
        for layer in (*self.forward_layers, *self.backward_layers):
            layer.build((None, None, self.projection_units))

    def call(
        self, inputs: Tensor, mask: Tensor = None, training: bool | None = None
    ) -> list[Tensor]:
        if mask is not None:
            mask = leading(mask)
        batch, tokens = ops.shape(inputs)[:2]
        layout = batch_layout(batch, tokens, mask)
        # Both directions run in one loop, each in its own order.
        directions = [layout.pack(inputs), layout.pack(inputs, reverse=True)]
        layers = [ops.concatenate([inputs, inputs], axis=-1)]
        if mask is not None:
            layers[0] *= ops.expand_dims(ops.cast(mask, inputs.dtype), -1)
        for k, pair in enumerate(
            zip(self.forward_layers, self.backward_layers, strict=True)
        ):
            # The published models drop before the skip connection branches off.
            directions = [self.input_dropout(x, training=training) for x in directions]
            lstms = [
                layer.lstm_inputs(x) for layer, x in zip(pair, directions, strict=True)
            ]
            outputs = layout.run_lstm(lstms, training)
            if self.skip_connections and k > 0:
                outputs = [y + x for y, x in zip(outputs, directions, strict=True)]
            directions = outputs
            forward, backward = outputs
            both = [layout.unpack(forward), layout.unpack(backward, reverse=True)]
            layers.append(ops.concatenate(both, axis=-1))
        return layers

    def compute_mask(
        self, inputs: Tensor, previous_mask: Tensor = None
    ) -> list[Tensor]:
        return [previous_mask] * (self.num_layers + 1)

    def compute_output_shape(self, inputs_shape: Shape) -> list[Shape]:
        shape = (*inputs_shape[:-1], 2 * self.projection_units)
        return [shape] * (self.num_layers + 1)
