"""The recurrence of a biLM as ONNX operators, on unmasked positions only.

As in `layers/packed_layout.py`, the rows are sorted by length, longest first, and a
step holds those that reach it. The steps that hold the same rows are a segment: a loop
over segments has a `Scan` over the steps of each.
"""

import numpy as np

from keras_elmo.layers.bilm import BiLM, ProjectedLSTM
from keras_elmo.onnx_graphs.graph import TO_THE_END, OnnxGraph, to_float32

# Positions of a segment whose gates are computed at once, in the cache of a processor.
_MAX_POSITIONS = 512


class PackedRows:
    """Where each valid position of a batch is, packed step after step.

    Positions are numbered row by row, beginning with 1. Position 0 is masked; it is a
    row of its own where a batch has no other position.
    """

    def __init__(self, graph: OnnxGraph, valid: str) -> None:
        zero, one = graph.integers(0), graph.integers(1)
        batch, width = graph.add_several(2, "Split", graph.add("Shape", valid))
        lengths = graph.add("ReduceSum", graph.cast(valid, "int64"), one, keepdims=0)
        total = graph.add("ReduceSum", lengths, zero, keepdims=1)
        extra = graph.add("Max", graph.add("Sub", one, total), zero)
        lengths = graph.add("Concat", extra, lengths, axis=0)
        rows = graph.add("Add", batch, one)
        lengths, order = graph.add_several(2, "TopK", lengths, rows)
        _, self._rank = graph.add_several(2, "TopK", order, rows, largest=0)
        self._num_steps = graph.slice(lengths, 0, 1, axis=0)

        # === Steps ===
        steps = _range(graph, self._num_steps)
        live = graph.add("Less", graph.add("Unsqueeze", steps, one), lengths)
        sizes = graph.add("ReduceSum", graph.cast(live, "int64"), one, keepdims=0)
        ends = graph.add("CumSum", sizes, graph.constant(0, "int64"))
        self._starts = graph.add("Concat", zero, ends, axis=0)
        self._segments = self._add_segments(graph, sizes)

        # === Positions ===
        step, rank = graph.add_several(2, "Split", graph.add("NonZero", live), axis=0)
        step, rank = (graph.add("Squeeze", x, zero) for x in (step, rank))
        # The first position of each row; one less, because position 0 has a row.
        before = graph.add("Sub", graph.add("Gather", order, rank), one)
        first = graph.add("Add", graph.add("Mul", before, width), one)
        # The row of position 0 has that one alone.
        self.positions = graph.add("Max", graph.add("Add", first, step), zero)
        last = graph.add("Sub", graph.add("Gather", lengths, rank), one)
        mirrored = graph.add("Sub", last, step)
        start = graph.add("Gather", self._starts, mirrored)
        # Where the position is if rows are read backwards; its own inverse.
        self.mirrored = graph.add("Add", start, rank)

    def _add_segments(self, graph: OnnxGraph, sizes: str) -> tuple[str, ...]:
        """Returns the first position of each segment, and how many rows it has."""
        limit = graph.constant(_MAX_POSITIONS, "int64")
        block = graph.add("Div", graph.slice(self._starts, 0, -1, axis=0), limit)
        # A step that differs from the one before begins a segment.
        changed = [
            graph.add(
                "Not",
                graph.add(
                    "Equal",
                    graph.slice(x, 1, TO_THE_END, axis=0),
                    graph.slice(x, 0, -1, axis=0),
                ),
            )
            for x in (sizes, block)
        ]
        always = graph.constant([True], "bool")
        begins = graph.add("Concat", always, graph.add("Or", *changed), axis=0)
        begins = graph.add("Reshape", graph.add("NonZero", begins), graph.integers(-1))
        size = graph.add("Gather", sizes, begins)
        begins = graph.add("Concat", begins, self._num_steps, axis=0)
        return graph.add("Gather", self._starts, begins), size

    def run(
        self, graph: OnnxGraph, name: str, pair: tuple[ProjectedLSTM, ...], x: list[str]
    ) -> list[str]:
        """Runs both directions of a layer from a fresh state.

        `x` is packed, `(positions, features)`, for each direction; so are the results.
        """
        starts, sizes = self._segments
        body = OnnxGraph(f"{name}_segment", graph)
        k = body.input(f"{name}_segment_number", "int64", ())
        body.output(
            body.add("Identity", body.input(f"{name}_go", "bool", ())), "bool", ()
        )
        widths = [w for layer in pair for w in (layer.projection_units, layer.units)]
        states = [
            body.input(f"{name}_state_{j}", "float32", ("rows", width))
            for j, width in enumerate(widths)
        ]
        before = [body.sequence_input(f"{name}_outputs_{j}") for j in range(2)]
        axis = body.integers(0)
        size, start = (
            body.add("Gather", table, body.add("Unsqueeze", k, axis))
            for table in (sizes, starts)
        )
        following = body.add("Add", k, body.constant(1, "int64"))
        stop = body.add("Gather", starts, body.add("Unsqueeze", following, axis))
        initial = [body.add("Slice", state, axis, size, axis) for state in states]
        for layer, values in zip(pair, x, strict=True):
            inputs = body.add("Slice", values, start, stop, axis)
            gates = _input_gates(body, layer, inputs)
            width = body.integers(4 * layer.units)
            shape = body.add("Concat", body.integers(-1), size, width, axis=0)
            initial.append(body.add("Reshape", gates, shape))
        results = body.add_several(
            6, "Scan", *initial, body=_steps(body, name, pair), num_scan_inputs=2
        )
        for state, units in zip(results[:4], widths, strict=True):
            body.output(state, "float32", ("rows", units))
        for layer, done, outputs in zip(pair, before, results[4:], strict=True):
            shape = body.integers(-1, layer.projection_units)
            outputs = body.add("Reshape", outputs, shape)
            body.sequence_output(body.add("SequenceInsert", done, outputs))

        rows = graph.add("Shape", self._rank)
        first = [
            graph.add(
                "ConstantOfShape",
                graph.add("Concat", rows, graph.integers(width), axis=0),
            )
            for width in widths
        ]
        first += [graph.add("SequenceEmpty") for _ in pair]
        number = graph.add("Size", sizes)
        *_, forward, backward = graph.add_several(
            6, "Loop", number, graph.constant(True, "bool"), *first, body=body.build()
        )
        return [
            graph.add("ConcatFromSequence", steps, axis=0)
            for steps in (forward, backward)
        ]

    def unpack(self, graph: OnnxGraph, layers: list[str], mask: str) -> list[str]:
        """Returns the tokens of packed `(positions, units)` layers, without boundaries.

        They are `(batch, tokens, units)` each, 0 where masked.
        """
        one = graph.integers(1)
        tokens = graph.slice(graph.add("Shape", mask), 1, 2, axis=0)
        step = graph.add("Add", _range(graph, tokens), one)
        step = graph.add("Min", step, self._num_steps)
        rank = graph.slice(self._rank, 1, TO_THE_END, axis=0)
        rank = graph.add("Unsqueeze", rank, one)
        place = graph.add("Add", graph.add("Gather", self._starts, step), rank)
        # The row behind the last position is 0.
        nowhere = graph.slice(self._starts, -1, TO_THE_END, axis=0)
        place = graph.add("Where", mask, place, nowhere)
        pads = graph.integers(0, 0, 1, 0)
        return [graph.add("Gather", graph.add("Pad", x, pads), place) for x in layers]


def _range(graph: OnnxGraph, stop: str) -> str:
    """Returns the numbers from 0 to a vector of one number."""
    number = graph.add("Squeeze", stop, graph.integers(0))
    zero, one = graph.constant(0, "int64"), graph.constant(1, "int64")
    return graph.add("Range", zero, number, one)


def add_bilm(graph: OnnxGraph, layer: BiLM, rows: PackedRows, x: str) -> list[str]:
    """Runs the layers from a fresh state, on packed `(positions, projection_units)`.

    The results are `num_layers + 1` tensors `(positions, 2 * projection_units)`.
    """
    inputs = [x, graph.add("Gather", x, rows.mirrored)]
    layers = [graph.add("Concat", x, x, axis=1)]
    pairs = zip(layer.forward_layers, layer.backward_layers, strict=True)
    for k, pair in enumerate(pairs):
        outputs = rows.run(graph, f"layer_{k + 1}", pair, inputs)
        if layer.skip_connections and k > 0:
            sums = zip(outputs, inputs, strict=True)
            outputs = [graph.add("Add", *terms) for terms in sums]
        inputs = outputs
        backward = graph.add("Gather", outputs[1], rows.mirrored)
        layers.append(graph.add("Concat", outputs[0], backward, axis=1))
    return layers


def _input_gates(body: OnnxGraph, layer: ProjectedLSTM, x: str) -> str:
    """Computes the inputs' share of the gates, for all positions at once."""
    # The forget gate's bias of one is not among the weights.
    forget = np.repeat(np.array([0, 0, 1, 0], "float32"), layer.units)
    kernel = to_float32(layer.kernel)[: -layer.projection_units]
    return body.affine(x, kernel, to_float32(layer.bias) + forget)


def _steps(graph: OnnxGraph, name: str, pair: tuple[ProjectedLSTM, ...]) -> object:
    """Returns the body of a `Scan`: a step of both directions."""
    body = OnnxGraph(f"{name}_step", graph)
    states, outputs = [], []
    for k, layer in enumerate(pair):
        for state, size in (("h", layer.projection_units), ("c", layer.units)):
            states.append(body.input(f"{name}_{state}_{k}", "float32", ("live", size)))
    for k, layer in enumerate(pair):
        gates = body.input(f"{name}_gates_{k}", "float32", ("live", 4 * layer.units))
        h, c = _add_step(body, layer, states[2 * k], states[2 * k + 1], gates)
        body.output(h, "float32", ("live", layer.projection_units))
        body.output(c, "float32", ("live", layer.units))
        # A state goes to the next step only; what is kept needs another name.
        outputs.append(body.add("Identity", h))
    for layer, output in zip(pair, outputs, strict=True):
        body.output(output, "float32", ("live", layer.projection_units))
    return body.build()


def _add_step(
    body: OnnxGraph, layer: ProjectedLSTM, h: str, c: str, gates: str
) -> tuple[str, str]:
    """Returns the next `h` and `c`."""
    kernel = to_float32(layer.kernel)[-layer.projection_units :]
    gates = body.add("Add", gates, body.affine(h, kernel))
    i, j, f, o = body.add_several(4, "Split", gates, axis=1)
    i, f, o = (body.add("Sigmoid", gate) for gate in (i, f, o))
    kept = body.add("Mul", f, c)
    c = body.add("Add", kept, body.add("Mul", i, body.add("Tanh", j)))
    c = _clip(body, c, layer.cell_clip)
    hidden = body.add("Mul", o, body.add("Tanh", c))
    h = body.affine(hidden, to_float32(layer.projection_kernel))
    return _clip(body, h, layer.projection_clip), c


def _clip(body: OnnxGraph, x: str, bound: float | None) -> str:
    if bound is None:
        return x
    return body.add("Clip", x, body.constant(-bound), body.constant(bound))
