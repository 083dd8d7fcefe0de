"""`ScalarMix` as operations of ONNX."""

import numpy as np

from keras_elmo.files.onnx_graph import OnnxGraph, array_of
from keras_elmo.layers.scalar_mix import ScalarMix


def add_mix(
    graph: OnnxGraph, mix: ScalarMix, layers: list[str], mask: str, units: int
) -> str:
    """Adds the layer.

    Args:
        graph: what it is added to.
        mix: whose weights are stored.
        layers: `(batch, tokens, units)` tensors, 0 where masked.
        mask: `(batch, tokens, 1)` float32, 1 where there is a token.
        units: of the layers.

    Returns:
        `(batch, tokens, units)`, 0 where masked.
    """
    if mix.layer_norm:
        layers = [_normalized(graph, layer, mask, units) for layer in layers]
    weights = np.exp(array_of(mix.scalars) - array_of(mix.scalars).max())
    weights *= array_of(mix.gamma) / weights.sum()
    parts = [
        graph.add("Mul", layer, graph.constant(weight))
        for layer, weight in zip(layers, weights, strict=True)
    ]
    return graph.add("Sum", *parts)


def _normalized(graph: OnnxGraph, layer: str, mask: str, units: int) -> str:
    """Zero mean and unit variance over the unmasked elements, 0 in the others."""
    tokens = graph.add("ReduceSum", mask, keepdims=0)
    # At least one, so that a batch without any word divides by something.
    tokens = graph.add("Max", tokens, graph.constant(1))
    count = graph.add("Mul", tokens, graph.constant(units))
    mean = graph.add("Div", graph.add("ReduceSum", layer, keepdims=0), count)
    centred = graph.add("Mul", graph.add("Sub", layer, mean), mask)
    variance = graph.add(
        "Div", graph.add("ReduceSumSquare", centred, keepdims=0), count
    )
    variance = graph.add("Add", variance, graph.constant(1e-12))
    return graph.add("Div", centred, graph.add("Sqrt", variance))
