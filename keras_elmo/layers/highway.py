"""The highway layer between the character convolutions and their projection."""

import math

import keras
from keras import ops

from keras_elmo.utils.checks import is_number, refuse
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.types import Config, Shape, Tensor


@keras_class
class Highway(keras.layers.Layer):
    """Adds a transformation to its input, weighted by a learned gate.

    `y = g * relu(x W_t + b_t) + (1 - g) * x` with `g = sigmoid(x W_c + b_c)`.

    The weights are named as in the published files, which call the gate `carry`
    although it weighs the transformed part.

    Args:
        carry_bias: initial value of `b_c`. A negative one starts the layer near the
            identity.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(..., units)` float tensor.

    Returns:
        A tensor of the shape of `inputs`.

    Raises:
        ValueError: the last axis of `inputs` is not known.

    Example:

    ```python
    highway = keras_elmo.Highway()
    inputs = np.ones((2, 6), "float32")
    assert highway(inputs).shape == (2, 6)
    # A closed gate returns the input.
    closed = keras_elmo.Highway(carry_bias=-50.0)
    np.testing.assert_allclose(closed(inputs), inputs, rtol=1e-5)
    ```

    Reference: Srivastava et al. 2015, Highway Networks, section 2.
    """

    def __init__(self, carry_bias: float = -2.0, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if not is_number(carry_bias):
            refuse("carry_bias", "a number", carry_bias)
        self.carry_bias_value = carry_bias
        self.supports_masking = True

    def build(self, inputs_shape: Shape) -> None:
        units = inputs_shape[-1]
        if units is None:
            raise ValueError(
                "`inputs` must have a known last axis. "
                f"Received: inputs.shape={inputs_shape}"
            )
        kernel = keras.initializers.RandomNormal(stddev=1 / math.sqrt(units))
        bias = keras.initializers.Constant(self.carry_bias_value)
        self.carry_kernel = self.add_weight(
            name="carry_kernel", shape=(units, units), initializer=kernel
        )
        self.carry_bias = self.add_weight(
            name="carry_bias", shape=(units,), initializer=bias
        )
        self.transform_kernel = self.add_weight(
            name="transform_kernel",
            shape=(units, units),
            # A second object: one initializer would draw the same values twice.
            initializer=kernel.clone(),
        )
        self.transform_bias = self.add_weight(
            name="transform_bias", shape=(units,), initializer="zeros"
        )

    def call(self, inputs: Tensor) -> Tensor:
        gate = ops.sigmoid(ops.matmul(inputs, self.carry_kernel) + self.carry_bias)
        transformed = ops.relu(
            ops.matmul(inputs, self.transform_kernel) + self.transform_bias
        )
        return gate * transformed + (1 - gate) * inputs

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        return inputs_shape

    def get_config(self) -> Config:
        return {**super().get_config(), "carry_bias": self.carry_bias_value}
