"""The highway layer between the character convolutions and their projection."""

import math
from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_elmo")
class Highway(keras.layers.Layer):
    """Lets a learned gate choose between a transformation and the input itself.

    `y = g * relu(x W_t + b_t) + (1 - g) * x` with `g = sigmoid(x W_c + b_c)`.

    The published files call the gate `carry`, although it weighs the transformed
    part; the names are kept so that weights can be copied.

    Args:
        carry_bias: initial value of `b_c`. A negative one starts the layer near the
            identity.
        **kwargs: arguments of `keras.layers.Layer`. With `trainable=False` the
            weights are created frozen, and stay so in an exported SavedModel.

    Call arguments:
        inputs: `(..., units)` float tensor.

    Returns:
        A tensor of the shape of `inputs`.

    Reference: Srivastava et al. 2015, Highway Networks, section 2.
    """

    def __init__(self, carry_bias: float = -2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.carry_bias_value = carry_bias
        self.supports_masking = True

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        units = inputs_shape[-1]
        if units is None:
            raise ValueError(
                "`inputs` must have a known last axis. "
                f"Received: inputs.shape={inputs_shape}"
            )
        kernel = keras.initializers.RandomNormal(stddev=1 / math.sqrt(units))
        bias = keras.initializers.Constant(self.carry_bias_value)
        common = {"trainable": self.trainable}
        self.carry_kernel = self.add_weight(
            name="carry_kernel", shape=(units, units), initializer=kernel, **common
        )
        self.carry_bias = self.add_weight(
            name="carry_bias", shape=(units,), initializer=bias, **common
        )
        self.transform_kernel = self.add_weight(
            name="transform_kernel",
            shape=(units, units),
            # A second object: one initializer would draw the same values twice.
            initializer=kernel.clone(),
            **common,
        )
        self.transform_bias = self.add_weight(
            name="transform_bias", shape=(units,), initializer="zeros", **common
        )

    def call(self, inputs: Any) -> Any:
        gate = ops.sigmoid(ops.matmul(inputs, self.carry_kernel) + self.carry_bias)
        transformed = ops.relu(
            ops.matmul(inputs, self.transform_kernel) + self.transform_bias
        )
        return gate * transformed + (1 - gate) * inputs

    def compute_output_shape(
        self, inputs_shape: tuple[int | None, ...]
    ) -> tuple[int | None, ...]:
        return inputs_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "carry_bias": self.carry_bias_value}
