from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from keras_elmo.serving.signature import LENGTHS, Signature
from tests.files.exports import SENTENCES, SIZES, TOKENS, padded

OUTPUTS = {*SIZES, "default", LENGTHS}


@pytest.fixture(scope="module")
def inputs():
    return {
        "default": {"strings": np.array([text.encode() for text in SENTENCES], object)},
        "tokens": {
            "tokens": padded(TOKENS),
            "sequence_len": np.array(list(map(len, TOKENS)), np.int32),
        },
    }


@pytest.mark.parametrize("name", ["default", "tokens"])
def test_it_says_what_it_takes_and_returns(name, model):
    signature = model.signatures[name]
    assert set(signature.outputs) == OUTPUTS
    ranks = {k: (v.dtype.name, v.rank) for k, v in signature.arguments.items()}
    if name == "default":
        assert ranks == {"strings": ("object", 1)}
        assert signature.given_tokens is None
    else:
        assert ranks == {"tokens": ("object", 2), "sequence_len": ("int32", 1)}
        assert signature.given_tokens == "tokens"


@pytest.mark.parametrize("name", ["default", "tokens"])
def test_each_output_alone_is_what_it_is_with_the_others(name, model, exported, inputs):
    loaded = tf.saved_model.load(str(exported))
    tensors = {k: tf.constant(v) for k, v in inputs[name].items()}
    wanted = loaded.signatures[name](**tensors)
    for output in OUTPUTS:
        found = model.signatures[name](inputs[name], [output])
        assert found.keys() == {output}
        assert found[output].dtype == wanted[output].dtype.as_numpy_dtype
        np.testing.assert_allclose(found[output], wanted[output], atol=1e-6)


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        (LENGTHS, {"Conv2D": 0, "LoopCond": 0}),
        ("word_emb", {"Conv2D": 3, "LoopCond": 0}),
        ("lstm_outputs1", {"Conv2D": 3, "LoopCond": 1}),
        ("lstm_outputs2", {"Conv2D": 3, "LoopCond": 2}),
    ],
)
def test_what_is_not_wanted_is_not_computed(output, wanted, exported):
    """Each width of filters is a convolution, each layer of LSTMs a loop."""
    loaded = tf.saved_model.load(str(exported))
    signature = Signature(loaded.signatures["default"])
    # What is left of a graph when it has been optimised; the first call tells it.
    context.enable_run_metadata()
    try:
        found = signature({"strings": np.array([b"one word"], object)}, [output])
        graphs = context.export_run_metadata().partition_graphs
    finally:
        context.disable_run_metadata()
    assert found.keys() == {output}
    kinds = Counter(node.op for graph in graphs for node in graph.node)
    assert sum(kinds.values()) > 10
    assert {kind: kinds[kind] for kind in wanted} == wanted
