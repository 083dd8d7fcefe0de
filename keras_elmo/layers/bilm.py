"""The bidirectional language model: stacked LSTMs over token embeddings."""

from typing import Any

import keras
from keras import ops

from keras_elmo.layers.projected_lstm import ProjectedLSTM


@keras.saving.register_keras_serializable("keras_elmo")
class BiLM(keras.layers.Layer):
    """Reads token embeddings in both directions and returns every layer.

    `h_(k,0) = [x_k; x_k]` and `h_(k,j) = [forward_(k,j); backward_(k,j)]`, where layer
    j of a direction reads layer j - 1 of the same direction. Each sentence starts from
    a fresh state unless one is passed in.

    Args:
        units: size of the cell state.
        projection_units: size of the token embeddings and of each direction's output.
        num_layers: LSTM layers.
        cell_clip: bound on every element of the cell state, or `None`.
        projection_clip: bound on every element of an LSTM's output, or `None`.
        skip_connections: whether every LSTM layer but the first adds its input to its
            output; the sum is neither clipped nor fed back.
        dropout: rate, on the input of every LSTM layer, while training.
        **kwargs: arguments of `keras.layers.Layer`. With `trainable=False` the
            weights are created frozen, and stay so in an exported SavedModel.

    Call arguments:
        inputs: `(batch, tokens, projection_units)` token embeddings.
        mask: `(batch, tokens)` booleans, True for the first tokens of a row.
        initial_state: `[h, c]` as returned; zeros if `None`.
        return_state: whether the last state is returned, too.
        training: whether dropout is applied.

    Returns:
        List of `num_layers + 1` tensors `(batch, tokens, 2 * projection_units)`, 0 in
        masked positions. With `return_state=True` a pair of that list and `[h, c]`,
        `(num_layers, 2, batch, projection_units)` and `(num_layers, 2, batch, units)`;
        the second axis is forward, backward.

    Masking: passed on to every layer.

    Raises:
        ValueError: the inputs do not have `projection_units` elements.

    Reference: Peters et al. 2018, sections 3.1 and 3.4.
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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.projection_units = projection_units
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.skip_connections = skip_connections
        self.dropout = dropout
        self.supports_masking = True
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

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        if inputs_shape[-1] != self.projection_units:
            raise ValueError(
                "`inputs` must have `projection_units` elements, for the layers' sizes "
                f"to agree. Received: inputs.shape={inputs_shape}, "
                f"projection_units={self.projection_units}"
            )
        for layer in (*self.forward_layers, *self.backward_layers):
            layer.build(inputs_shape)

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        initial_state: Any = None,
        return_state: bool = False,
        training: bool | None = None,
    ) -> Any:
        lengths = None if mask is None else ops.sum(ops.cast(mask, "int32"), axis=1)
        # Padding follows a row's tokens in both reading directions, so it reaches
        # nothing but the last state: only who asks for that pays for holding it.
        held = mask if return_state else None
        forward, forward_state = self._read(
            self.forward_layers, inputs, held, initial_state, 0, training
        )
        backward, backward_state = self._read(
            self.backward_layers,
            _reverse(inputs, lengths),
            held,
            initial_state,
            1,
            training,
        )
        layers = [ops.concatenate([inputs, inputs], axis=-1)]
        layers += [
            ops.concatenate([ahead, _reverse(behind, lengths)], axis=-1)
            for ahead, behind in zip(forward, backward, strict=True)
        ]
        if mask is not None:
            kept = ops.cast(mask, layers[0].dtype)[..., None]
            layers = [layer * kept for layer in layers]
        if not return_state:
            return layers
        state = [
            ops.stack([ops.stack(forward_state[k]), ops.stack(backward_state[k])], 1)
            for k in range(2)
        ]
        return layers, state

    def _read(
        self,
        layers: list[ProjectedLSTM],
        x: Any,
        mask: Any,
        initial_state: Any,
        direction: int,
        training: bool | None,
    ) -> tuple[list[Any], tuple[list[Any], list[Any]]]:
        """Stacks the layers of one direction; returns their outputs and states."""
        outputs: list[Any] = []
        states: tuple[list[Any], list[Any]] = ([], [])
        for k, layer in enumerate(layers):
            state = None
            if initial_state is not None:
                state = [part[k, direction] for part in initial_state]
            # The published models drop before the skip connection branches off.
            x = self.input_dropout(x, training=training)
            y, state = layer(x, mask=mask, initial_state=state, training=training)
            x = y + x if self.skip_connections and k > 0 else y
            outputs.append(x)
            for part, value in zip(states, state, strict=True):
                part.append(value)
        return outputs, states

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        return [previous_mask] * (self.num_layers + 1)

    def compute_output_spec(
        self,
        inputs: Any,
        mask: Any = None,
        initial_state: Any = None,
        return_state: bool = False,
        training: bool | None = None,
    ) -> Any:
        batch, tokens, _ = inputs.shape
        shape = (batch, tokens, 2 * self.projection_units)
        layers = [
            keras.KerasTensor(shape, self.compute_dtype)
            for _ in range(self.num_layers + 1)
        ]
        if not return_state:
            return layers
        state = (self.num_layers, 2, batch)
        return layers, [
            keras.KerasTensor((*state, self.projection_units), self.compute_dtype),
            keras.KerasTensor((*state, self.units), "float32"),
        ]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "units": self.units,
            "projection_units": self.projection_units,
            "num_layers": self.num_layers,
            "cell_clip": self.cell_clip,
            "projection_clip": self.projection_clip,
            "skip_connections": self.skip_connections,
            "dropout": self.dropout,
        }


def _reverse(x: Any, lengths: Any) -> Any:
    """Reverses the first `lengths` steps of each row; its own inverse."""
    if lengths is None:
        return ops.flip(x, axis=1)
    time = ops.shape(x)[1]
    step = ops.arange(time, dtype="int32")[None, :]
    length = lengths[:, None]
    order = ops.where(step < length, length - 1 - step, step)
    return ops.take_along_axis(x, order[..., None], axis=1)
