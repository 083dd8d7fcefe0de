"""The layers above word vectors, of taggers and classifiers, as ONNX operators."""

import keras
import numpy as np

from keras_elmo.onnx_graphs.graph import OnnxGraph, to_float32

# Less than any value.
_LEAST = -1e9


def add_bilstm(
    graph: OnnxGraph, layer: keras.layers.Bidirectional, x: str, lengths: str
) -> str:
    """Runs a bidirectional LSTM of Keras on `(batch, tokens, features)`.

    The result is `(batch, tokens, 2 * units)`, 0 where masked.
    """
    cells = [layer.forward_layer.cell, layer.backward_layer.cell]
    units = cells[0].units
    weights = [
        graph.constant(np.stack([_gates(getattr(cell, name), units) for cell in cells]))
        for name in ("kernel", "recurrent_kernel")
    ]
    biases = [_gates(to_float32(cell.bias)[None], units)[:, 0] for cell in cells]
    # The second half is the bias of the recurrent product; Keras has one bias.
    biases = [np.concatenate([bias, np.zeros_like(bias)]) for bias in biases]
    # One masked token more, so that there is a step.
    x = graph.add("Pad", x, graph.integers(0, 0, 0, 0, 1, 0))
    x = graph.add("Transpose", x, perm=[1, 0, 2])
    bias = graph.constant(np.stack(biases))
    y = graph.add(
        "LSTM",
        *(x, *weights, bias, lengths),
        hidden_size=units,
        direction="bidirectional",
    )
    y = graph.add("Transpose", y, perm=[2, 0, 1, 3])
    y = graph.add("Reshape", y, graph.integers(0, 0, 2 * units))
    return graph.slice(y, 0, -1, axis=1)


def _gates(kernel: object, units: int) -> np.ndarray:
    """Returns `(4 * units, inputs)` gates i, o, f, c of Keras's i, f, c, o."""
    i, f, c, o = np.split(to_float32(kernel), [units, 2 * units, 3 * units], axis=1)
    return np.concatenate([i, o, f, c], axis=1).T


def add_dense(graph: OnnxGraph, layer: keras.layers.Dense, x: str) -> str:
    """Multiplies the last axis by a matrix, in float32, and adds a bias."""
    product = graph.add("MatMul", x, graph.constant(to_float32(layer.kernel)))
    return graph.add("Add", product, graph.constant(to_float32(layer.bias)))


def add_normalization(
    graph: OnnxGraph, layer: keras.layers.LayerNormalization, x: str
) -> str:
    """Normalises the last axis."""
    weights = [graph.constant(to_float32(x)) for x in (layer.gamma, layer.beta)]
    return graph.add("LayerNormalization", x, *weights, axis=-1, epsilon=layer.epsilon)


def add_static(graph: OnnxGraph, vectors: object, ids: str) -> str:
    """Looks up `(batch, tokens)` vectors, in 8 bits if the graph is; 0 for the id 0."""
    table = to_float32(vectors).copy()
    table[0] = 0
    return graph.look_up(table, ids)


def add_pooling(graph: OnnxGraph, x: str, kept: str, pools: list[str]) -> str:
    """Pools `(batch, tokens, units)` over the tokens that are kept.

    `kept` is `(batch, tokens, 1)` booleans, one at least in each row.
    """
    one, vectors = graph.integers(1), []
    for name in pools:
        filling = graph.constant(0.0 if name == "mean" else _LEAST)
        values = graph.add("Where", kept, x, filling)
        if name == "mean":
            count = graph.add("ReduceSum", graph.cast(kept, "float32"), one, keepdims=0)
            total = graph.add("ReduceSum", values, one, keepdims=0)
            vectors.append(graph.add("Div", total, count))
        else:
            vectors.append(graph.add("ReduceMax", values, axes=[1], keepdims=0))
    return graph.add("Concat", *vectors, axis=-1)
