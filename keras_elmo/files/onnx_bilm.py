"""`BiLM` as operations of ONNX.

ONNX's own LSTM has neither a projection nor a bound on its cell state, so the steps are
written out, as the body of a loop.
"""

import numpy as np

from keras_elmo.files.onnx_graph import OnnxGraph, array_of
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.lstm_step import State
from keras_elmo.layers.projected_lstm import ProjectedLSTM


def add_bilm(graph: OnnxGraph, layer: BiLM, x: str, lengths: str) -> list[str]:
    """Adds the layer, whose rows begin from a fresh state.

    Args:
        graph: what it is added to.
        layer: whose weights are stored.
        x: `(positions, batch, projection_units)`.
        lengths: `(batch,)` int64, how many positions of a row are not masked.

    Returns:
        `num_layers + 1` tensors `(positions, batch, 2 * projection_units)`; masked
        positions hold anything.
    """
    sides = [x, _reversed(graph, x, lengths)]
    layers = [graph.add("Concat", x, x, axis=2)]
    pairs = zip(layer.forward_layers, layer.backward_layers, strict=True)
    for k, pair in enumerate(pairs):
        outputs = _read(graph, f"layer_{k + 1}", pair, sides)
        if layer.skip_connections and k > 0:
            outputs = [
                graph.add("Add", y, side)
                for y, side in zip(outputs, sides, strict=True)
            ]
        sides = outputs
        backward = _reversed(graph, sides[1], lengths)
        layers.append(graph.add("Concat", sides[0], backward, axis=2))
    return layers


def _reversed(graph: OnnxGraph, x: str, lengths: str) -> str:
    """Reverses the positions of each row that are not masked; its own inverse."""
    return graph.add("ReverseSequence", x, lengths, time_axis=0, batch_axis=1)


def _read(
    graph: OnnxGraph, name: str, pair: tuple[ProjectedLSTM, ...], sides: list[str]
) -> list[str]:
    """Both directions of a layer, in one loop over the positions.

    Padding follows a row's positions in both, so it reaches nothing that is kept.
    """
    body = OnnxGraph(name)
    names = [f"{name}_{direction}" for direction in ("forward", "backward")]
    states = [_state(body, *each) for each in zip(names, pair, strict=True)]
    gates = [
        body.input(f"{each}_gates", "float32", ("batch", 4 * layer.units))
        for each, layer in zip(names, pair, strict=True)
    ]
    outputs = []
    for layer, state, x in zip(pair, states, gates, strict=True):
        h, c = _step(body, layer, state, x)
        body.output(h, "float32", ("batch", layer.projection_units))
        body.output(c, "float32", ("batch", layer.units))
        # A state is handed to the next step and not kept: here it is once more.
        outputs.append(body.add("Identity", h))
    for layer, y in zip(pair, outputs, strict=True):
        body.output(y, "float32", ("batch", layer.projection_units))
    first = [zeros for layer in pair for zeros in _fresh_state(graph, layer, sides[0])]
    inputs = [_gates(graph, *each) for each in zip(pair, sides, strict=True)]
    *_, forward, backward = graph.add_several(
        6, "Scan", *first, *inputs, body=body.finished(), num_scan_inputs=2
    )
    return [forward, backward]


def _gates(graph: OnnxGraph, layer: ProjectedLSTM, x: str) -> str:
    """The inputs' share of the gates, which does not wait for the recurrence."""
    # The forget gate's bias of one is not among the weights.
    forget = np.repeat(np.array([0, 0, 1, 0], "float32"), layer.units)
    kernel = array_of(layer.kernel)[: -layer.projection_units]
    return graph.affine(x, kernel, array_of(layer.bias) + forget)


def _fresh_state(graph: OnnxGraph, layer: ProjectedLSTM, x: str) -> list[str]:
    batch = graph.slice(graph.add("Shape", x), 1, 2, axis=0)
    sizes = (layer.projection_units, layer.units)
    shapes = (graph.add("Concat", batch, graph.integers(n), axis=0) for n in sizes)
    return [graph.add("ConstantOfShape", shape) for shape in shapes]


def _state(body: OnnxGraph, name: str, layer: ProjectedLSTM) -> State:
    h = body.input(f"{name}_h", "float32", ("batch", layer.projection_units))
    c = body.input(f"{name}_c", "float32", ("batch", layer.units))
    return State(h, c)


def _step(body: OnnxGraph, layer: ProjectedLSTM, state: State, gates: str) -> State:
    """The arithmetic of `lstm_step`."""
    h, c = state
    kernel = body.constant(array_of(layer.kernel)[-layer.projection_units :])
    gates = body.add("Add", gates, body.add("MatMul", h, kernel))
    i, j, f, o = body.add_several(4, "Split", gates, axis=1)
    i, f, o = (body.add("Sigmoid", gate) for gate in (i, f, o))
    kept = body.add("Mul", f, c)
    c = body.add("Add", kept, body.add("Mul", i, body.add("Tanh", j)))
    c = _clip(body, c, layer.cell_clip)
    kernel = body.constant(array_of(layer.projection_kernel))
    h = body.add("MatMul", body.add("Mul", o, body.add("Tanh", c)), kernel)
    return State(_clip(body, h, layer.projection_clip), c)


def _clip(body: OnnxGraph, x: str, bound: float | None) -> str:
    if bound is None:
        return x
    return body.add("Clip", x, body.constant(-bound), body.constant(bound))
