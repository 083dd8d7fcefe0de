"""The weighted sum of a biLM's layers: what a task learns of ELMo."""

from typing import Any

import keras
from keras import ops

from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.types import Shape, Tensor


@keras_class
class ScalarMix(keras.layers.Layer):
    """Sums layers, weighted by softmax-normalised scalars and one common scale.

    `mix = gamma * sum_j softmax(s)_j h_j`.

    Args:
        layer_norm: whether each layer is first normalised by one mean and one
            variance over all unmasked elements of the batch. A vector then depends
            on its batch.
        regularizer: of the raw scalars `s`, not of `gamma`. The paper's L2 of 1
            keeps the mix near the average, 0.001 lets it move.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        layers: list of `(batch, tokens, units)` tensors.
        mask: `(batch, tokens)` booleans, or a list with one mask per layer.

    Returns:
        `(batch, tokens, units)` tensor.

    Masking: passed on; used by `layer_norm` alone.

    Raises:
        ValueError: the layers are none, or of different sizes.

    Example:

    ```python
    layers = [np.full((1, 2, 4), float(k), "float32") for k in range(3)]
    mix = keras_elmo.ScalarMix()
    # The weights begin equal.
    np.testing.assert_allclose(mix(layers), layers[1], rtol=1e-5)
    mix.scalars.assign([0.0, 0.0, 20.0])
    np.testing.assert_allclose(mix(layers), layers[2], rtol=1e-5)
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, equation 1
    and section 3.2.
    """

    def __init__(
        self,
        layer_norm: bool = False,
        regularizer: str | keras.regularizers.Regularizer | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        self.layer_norm = layer_norm
        self.regularizer = get_regularizer(regularizer=regularizer)
        self.supports_masking = True

    def build(self, layers_shape: list[Shape]) -> None:
        sizes = {shape[-1] for shape in layers_shape}
        if len(sizes) != 1:
            raise ValueError(
                "`layers` must hold at least one tensor, all of one size. "
                f"Received: shapes={layers_shape}"
            )
        self.scalars = self.add_weight(
            name="scalars",
            shape=(len(layers_shape),),
            initializer="zeros",
            regularizer=self.regularizer,
        )
        self.gamma = self.add_weight(name="gamma", shape=(), initializer="ones")

    def call(self, layers: list[Tensor], mask: Tensor = None) -> Tensor:
        if self.layer_norm:
            if isinstance(mask, list | tuple):
                mask = mask[0]
            layers = [_normalize(layer, mask) for layer in layers]
        weights = self.layer_weights
        mix = sum(weights[k] * layer for k, layer in enumerate(layers))
        return self.gamma * mix

    @property
    def layer_weights(self) -> Tensor:
        """`softmax(s)`, one element per layer."""
        return ops.softmax(self.scalars)

    def compute_mask(
        self, layers: list[Tensor], previous_mask: Tensor = None
    ) -> Tensor:
        if isinstance(previous_mask, list | tuple):
            return previous_mask[0]
        return previous_mask

    def compute_output_shape(self, layers_shape: list[Shape]) -> Shape:
        return tuple(layers_shape[0])


def get_regularizer(**arguments: Any) -> keras.regularizers.Regularizer | None:
    """Returns what `keras.regularizers.get` does; an error names the argument."""
    [(name, regularizer)] = arguments.items()
    try:
        return keras.regularizers.get(regularizer)
    except ValueError as error:
        raise ValueError(
            f"`{name}` must be a Keras regularizer or None. "
            f"Received: {name}={regularizer!r}"
        ) from error


def _normalize(layer: Tensor, mask: Tensor) -> Tensor:
    """Zero mean and unit variance over the unmasked elements."""
    # Their number may be too large for a float16.
    dtype = layer.dtype
    layer = ops.cast(layer, keras.backend.result_type(dtype, "float32"))
    if mask is None:
        mask = ops.ones(ops.shape(layer)[:-1], dtype=layer.dtype)
    mask = ops.expand_dims(ops.cast(mask, layer.dtype), -1)
    # At least one, so that a batch without any word divides by something.
    count = ops.maximum(ops.sum(mask) * layer.shape[-1], 1.0)
    mean = ops.sum(layer * mask) / count
    variance = ops.sum(ops.square((layer - mean) * mask)) / count
    return ops.cast((layer - mean) * ops.rsqrt(variance + 1e-12), dtype)
