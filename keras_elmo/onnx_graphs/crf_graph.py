"""The paths of a CRF as ONNX operators.

Loops over the tokens of a batch, one step for all its sentences. A masked token keeps
what there was before it, as in `layers/crf_paths.py`.
"""

from collections.abc import Callable

import numpy as np

from keras_elmo.layers.crf import CRF
from keras_elmo.onnx_graphs.graph import OnnxGraph, to_float32

# Adds the operators of a step. Its arguments are the body of the loop, the state
# `(batch, tags)`, the potentials `(batch, tags, tags)`, and the mask `(batch, 1)`. It
# returns the next state where not masked, and what the loop collects.
Step = Callable[[OnnxGraph, str, str, str], tuple[str, str]]


class TagPaths:
    """The potentials of a batch, and what is computed from them.

    Of scores `(batch, tokens, tags)`, lengths `(batch,)` int32, and a mask `(batch,
    tokens)` of booleans.
    """

    def __init__(
        self, graph: OnnxGraph, crf: CRF, scores: str, lengths: str, mask: str
    ) -> None:
        self._graph = graph
        weights = [
            to_float32(weight) + forbidden
            for weight, forbidden in (
                (crf.transitions, crf.forbidden.between),
                (crf.start_scores, crf.forbidden.start),
                (crf.end_scores, crf.forbidden.end),
            )
        ]
        self._transitions, start, end = map(graph.constant, weights)
        self._num_tags = crf.num_tags
        # One masked token more, so that there is a step.
        scores, mask = (_one_more(graph, x, k) for x, k in ((scores, 3), (mask, 2)))
        zero, one = (graph.constant(k, "int32") for k in (0, 1))
        size = graph.add("Gather", graph.add("Shape", mask), graph.constant(1, "int64"))
        step = graph.add("Range", zero, graph.cast(size, "int32"), one)
        last = graph.add("Unsqueeze", graph.add("Sub", lengths, one), graph.integers(1))
        for place, added in ((zero, start), (last, end)):
            here = graph.add("Equal", step, place)
            here = graph.add("Unsqueeze", here, graph.integers(-1))
            added = graph.add("Where", here, added, graph.constant(0.0))
            scores = graph.add("Add", scores, added)
        self._scores = graph.add("Transpose", scores, perm=[1, 0, 2])
        mask = graph.add("Unsqueeze", mask, graph.integers(2))
        self._mask = graph.add("Transpose", mask, perm=[1, 0, 2])
        self._is_first = graph.add("Equal", step, zero)

    def best(self) -> str:
        """Returns the `(batch, tokens)` int64 tags of the best path (Viterbi)."""
        graph = self._graph

        def forwards(
            body: OnnxGraph, state: str, potentials: str, mask: str
        ) -> tuple[str, str]:
            sums = _plus(body, state, potentials, 2)
            before = body.add("ArgMax", sums, axis=1, keepdims=0)
            # The tag before a masked token is its own.
            same = body.constant(np.arange(self._num_tags), "int64")
            before = body.add("Where", mask, before, same)
            return body.add("ReduceMax", sums, axes=[1], keepdims=0), before

        last, before = self._scan("viterbi", forwards, "int64")
        tag = graph.add("ArgMax", last, axis=1, keepdims=0)
        body = OnnxGraph("viterbi_back", graph)
        state = body.input("viterbi_tag", "int64", ("batch",))
        rows = body.input("viterbi_before", "int64", ("batch", self._num_tags))
        place = body.add("Unsqueeze", state, body.integers(1))
        place = body.add("GatherElements", rows, place, axis=1)
        body.output(body.add("Squeeze", place, body.integers(1)), "int64", ("batch",))
        body.output(body.add("Identity", state), "int64", ("batch",))
        _, tags = graph.add_several(
            2,
            "Scan",
            tag,
            before,
            body=body.build(),
            num_scan_inputs=1,
            scan_input_directions=[1],
            scan_output_directions=[1],
        )
        return graph.slice(graph.add("Transpose", tags, perm=[1, 0]), 0, -1, axis=1)

    def marginals(self) -> str:
        """Returns the `(batch, tokens, tags)` probabilities of tags."""
        graph = self._graph

        def forwards(
            body: OnnxGraph, state: str, potentials: str, mask: str
        ) -> tuple[str, str]:
            after = _log_sum(body, _plus(body, state, potentials, 2), 1)
            return after, body.add("Where", mask, after, state)

        def backwards(
            body: OnnxGraph, state: str, potentials: str, mask: str
        ) -> tuple[str, str]:
            before = _log_sum(body, _plus(body, state, potentials, 1), 2)
            return before, body.add("Identity", state)

        _, until = self._scan("sums", forwards)
        _, after = self._scan("sums_back", backwards, is_reverse=True)
        marginals = graph.add("Softmax", graph.add("Add", until, after), axis=-1)
        marginals = graph.add("Transpose", marginals, perm=[1, 0, 2])
        return graph.slice(marginals, 0, -1, axis=1)

    def _scan(
        self,
        name: str,
        step: Step,
        collected: str = "float32",
        is_reverse: bool = False,
    ) -> tuple[str, str]:
        """Returns the last state, and what is collected in a dtype, time first."""
        graph, num_tags = self._graph, self._num_tags
        body = OnnxGraph(name, graph)
        axes = ("batch", num_tags)
        state = body.input(f"{name}_state", "float32", axes)
        scores = body.input(f"{name}_scores", "float32", axes)
        mask = body.input(f"{name}_mask", "bool", ("batch", 1))
        is_first = body.input(f"{name}_is_first", "bool", ())
        between = body.add("Where", is_first, body.constant(0.0), self._transitions)
        scores = body.add("Unsqueeze", scores, body.integers(1))
        after, kept = step(body, state, body.add("Add", scores, between), mask)
        body.output(body.add("Where", mask, after, state), "float32", axes)
        body.output(kept, collected, axes)
        shape = graph.add("Shape", self._scores)
        first = graph.add(
            "ConstantOfShape",
            graph.add(
                "Concat",
                graph.slice(shape, 1, 2, axis=0),
                graph.integers(num_tags),
                axis=0,
            ),
        )
        inputs = self._scores, self._mask, self._is_first
        last, kept = graph.add_several(
            2,
            "Scan",
            first,
            *inputs,
            body=body.build(),
            num_scan_inputs=3,
            scan_input_directions=[int(is_reverse)] * 3,
            scan_output_directions=[int(is_reverse)],
        )
        return last, kept


def _one_more(graph: OnnxGraph, x: str, num_axes: int) -> str:
    """Adds a row of zeros, or of False, at the end of axis 1."""
    after = [0] * num_axes
    pads = graph.integers(*after, 0, 1, *after[2:])
    if num_axes == 3:
        return graph.add("Pad", x, pads)
    # Booleans are not padded by every runtime.
    padded = graph.add("Pad", graph.cast(x, "int32"), pads)
    return graph.cast(padded, "bool")


def _plus(body: OnnxGraph, state: str, potentials: str, axis: int) -> str:
    """Adds the state of the tags before, with a new axis 2, or of those after, 1."""
    return body.add(
        "Add", body.add("Unsqueeze", state, body.integers(axis)), potentials
    )


def _log_sum(body: OnnxGraph, x: str, axis: int) -> str:
    """Returns the logarithm of the sum of exponentials, without overflow."""
    greatest = body.add("ReduceMax", x, axes=[axis], keepdims=1)
    powers = body.add("Exp", body.add("Sub", x, greatest))
    total = body.add("ReduceSum", powers, body.integers(axis), keepdims=0)
    greatest = body.add("Squeeze", greatest, body.integers(axis))
    return body.add("Add", greatest, body.add("Log", total))
