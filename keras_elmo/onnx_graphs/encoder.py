"""A biLM and its mix as ONNX operators, from character ids."""

from typing import NamedTuple

from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.models.encoder import Encoder
from keras_elmo.onnx_graphs.graph import TO_THE_END, OnnxGraph
from keras_elmo.onnx_graphs.layers import add_scalar_mix, add_token_embedding
from keras_elmo.onnx_graphs.recurrence import PackedRows, add_bilm


class EncodedTokens(NamedTuple):
    """The tokens of a batch, without the boundaries of sentences.

    Attributes:
        layers: `num_layers + 1` tensors `(batch, tokens, 2 * projection_units)`, 0
            where masked.
        is_token: `(batch, tokens)` booleans.
        mask: `(batch, tokens, 1)` float32, 1 at a token.
    """

    layers: list[str]
    is_token: str
    mask: str

    def mixed(self, graph: OnnxGraph, mix: ScalarMix, units: int) -> str:
        """Returns the mix of the layers, whose last axis has `units` elements."""
        return add_scalar_mix(graph, mix, self.layers, self.mask, units)

    def lengths(self, graph: OnnxGraph) -> str:
        """Returns the `(batch,)` int32 numbers of tokens."""
        tokens = graph.cast(self.is_token, "int32")
        return graph.add("ReduceSum", tokens, graph.integers(1), keepdims=0)


def add_encoder(graph: OnnxGraph, encoder: Encoder, char_ids: str) -> EncodedTokens:
    """Runs a biLM.

    Args:
        graph: what the operators are added to.
        encoder: whose weights are stored.
        char_ids: `(batch, tokens + 2, ids_per_token)` int32.
    """
    first = graph.add("Gather", char_ids, graph.constant(0, "int64"), axis=2)
    masked = graph.add("Not", graph.add("Greater", first, graph.constant(0, "int32")))
    # A sentence ends at its first masked position, as `leading` has it.
    before = graph.add(
        "CumSum", graph.cast(masked, "int32"), graph.constant(1, "int64")
    )
    valid = graph.add("Equal", before, graph.constant(0, "int32"))
    # A position holds a token where the next one is valid.
    is_token = graph.slice(valid, 2, TO_THE_END, axis=1)
    mask = graph.add("Unsqueeze", graph.cast(is_token, "float32"), graph.integers(2))
    rows = PackedRows(graph, valid)
    num_ids = encoder.config.ids_per_token
    x = add_token_embedding(
        graph, encoder.token_embedding, char_ids, num_ids, rows.positions
    )
    packed = add_bilm(graph, encoder.get_layer("bilm"), rows, x)
    return EncodedTokens(rows.unpack(graph, packed, is_token), is_token, mask)
