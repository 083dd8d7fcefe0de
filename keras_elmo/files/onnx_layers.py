"""`CharCNNEmbedding` as operations of ONNX."""

import numpy as np

from keras_elmo.config import MAX_CHARACTERS
from keras_elmo.files.onnx_graph import TO_THE_END, OnnxGraph, array_of
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.layers.recurrence import State
from keras_elmo.layers.scalar_mix import ScalarMix


def add_character_cnn(graph: OnnxGraph, layer: CharCNNEmbedding, char_ids: str) -> str:
    """Adds the layer, which reads each distinct word of a batch once.

    Args:
        graph: what it is added to.
        layer: whose weights are stored.
        char_ids: `(batch, positions, 50)` int32.

    Returns:
        `(batch * positions, projection_units)`; masked positions hold anything.
    """
    words = graph.add("Reshape", char_ids, graph.integers(-1, MAX_CHARACTERS))
    # A masked word stands first, so that a batch without words has one to embed.
    masked = graph.constant(np.zeros((1, MAX_CHARACTERS)), "int32")
    words = graph.add("Concat", masked, words, axis=0)
    # ONNX Runtime tells rows apart if they are of 64 bits.
    words = graph.cast(words, "int64")
    words, _, places, _ = graph.add_several(4, "Unique", words, axis=0, sorted=0)
    widest = max(width for width, _ in layer.filters)
    embeddings = _embedded(graph, layer, _without_repeated_end(graph, words, widest))
    places = graph.slice(places, 1, TO_THE_END, axis=0)
    return graph.add("Gather", embeddings, places, axis=0)


def _without_repeated_end(graph: OnnxGraph, words: str, widest: int) -> str:
    """Leaves one window, for each width, of the character that ends all words."""
    end = graph.slice(words, -1, TO_THE_END, axis=1)
    goes_on = graph.add("Not", graph.add("Equal", words, end))
    place = graph.integers(*range(1, MAX_CHARACTERS + 1))
    place = graph.add("Mul", graph.cast(goes_on, "int64"), place)
    longest = graph.add("ReduceMax", place, axes=[0, 1], keepdims=0)
    length = graph.add("Add", longest, graph.integers(widest))
    return graph.add("Slice", words, graph.integers(0), length, graph.integers(1))


def _embedded(graph: OnnxGraph, layer: CharCNNEmbedding, words: str) -> str:
    """`(words, characters)` ids to `(words, projection_units)`."""
    table = graph.constant(array_of(layer.char_embedding))
    characters = graph.add("Gather", table, words, axis=0)
    characters = graph.add("Transpose", characters, perm=[0, 2, 1])
    features = []
    for kernel, bias in zip(layer.kernels, layer.biases, strict=True):
        kernel = graph.constant(array_of(kernel).transpose(2, 1, 0))
        x = graph.add("Conv", characters, kernel)
        x = graph.add("ReduceMax", x, axes=[2], keepdims=0)
        x = graph.add("Add", x, graph.constant(array_of(bias)))
        features.append(graph.add(layer.activation.capitalize(), x))
    x = graph.add("Concat", *features, axis=1)
    for highway in layer.highways:
        x = _highway(graph, highway, x)
    if layer.projection_kernel is None:
        return x
    kernel, bias = layer.projection_kernel, layer.projection_bias
    return graph.affine(x, array_of(kernel), array_of(bias))


def _highway(graph: OnnxGraph, layer: Highway, x: str) -> str:
    gate = graph.affine(x, array_of(layer.carry_kernel), array_of(layer.carry_bias))
    kernel, bias = layer.transform_kernel, layer.transform_bias
    transformed = graph.add("Relu", graph.affine(x, array_of(kernel), array_of(bias)))
    # g * t + (1 - g) * x
    change = graph.add("Sub", transformed, x)
    return graph.add("Add", x, graph.add("Mul", graph.add("Sigmoid", gate), change))


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
