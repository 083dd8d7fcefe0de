import shutil
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from keras_elmo.serving.limits import ServingError
from keras_elmo.serving.model import LENGTHS, Model, Signature
from tests.helpers.exports import SENTENCES, SIZES, TOKENS, padded

pytestmark = pytest.mark.graph

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
def test_arguments_and_outputs(name, model):
    signature = model.signatures[name]
    assert set(signature.outputs) == OUTPUTS
    ranks = {k: (v.dtype.name, v.rank) for k, v in signature.arguments.items()}
    if name == "default":
        assert ranks == {"strings": ("object", 1)}
        assert signature.token_argument is None
    else:
        assert ranks == {"tokens": ("object", 2), "sequence_len": ("int32", 1)}
        assert signature.token_argument == "tokens"


@pytest.mark.parametrize("name", ["default", "tokens"])
def test_single_outputs(name, model, inputs):
    tensors = {k: tf.constant(v) for k, v in inputs[name].items()}
    wanted = model.loaded.signatures[name](**tensors)
    for output in OUTPUTS:
        found = model.signatures[name](inputs[name], [output])
        assert found.keys() == {output}
        assert found[output].dtype == wanted[output].dtype.as_numpy_dtype
        np.testing.assert_allclose(found[output], wanted[output], atol=1e-5)


@pytest.fixture(scope="module")
def cold(model):
    """A signature whose graphs have not been called."""
    return Signature(model.loaded.signatures["default"], model.loaded)


@pytest.mark.parametrize(
    ("output", "convolutions", "loops"),
    [(LENGTHS, 0, 0), ("word_emb", 3, 0), ("lstm_outputs1", 3, 1)]
    + [("lstm_outputs2", 3, 2)],
)
def test_pruned_graphs(output, convolutions, loops, cold):
    """Each width of filters is a convolution, each layer of LSTMs a loop."""
    # The graph as it is executed: the first call reports it. oneDNN, where TensorFlow
    # uses it, has its own names: _MklNativeConv2D.
    context.enable_run_metadata()
    try:
        found = cold({"strings": np.array([b"one word"], object)}, [output])
        graphs = context.export_run_metadata().partition_graphs
    finally:
        context.disable_run_metadata()
    assert found.keys() == {output}
    kinds = [node.op for graph in graphs for node in graph.node]
    assert len(kinds) > 10
    assert sum("Conv2D" in kind for kind in kinds) == convolutions
    assert kinds.count("LoopCond") == loops


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("saved_model.pb", b"damaged", "Error parsing message"),
        ("saved_model.pb", b"", "saved_model.pb has no graph"),
        ("saved_model.pb", None, "there is no saved_model.pb"),
        ("variables/variables.index", b"", "file is too short"),
        ("variables/variables.index", None, "any matching files for"),
        ("variables/variables.data-00000-of-00001", b"short", "Read less bytes"),
        ("variables/variables.data-00000-of-00001", None, "variables.data.*No such"),
    ],
)
def test_damaged_model(file, content, reason, exported, tmp_path):
    """The error says why, in one line."""
    folder = tmp_path / "model"
    shutil.copytree(exported, folder)
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.raises(
        ValueError, match=f"{folder}: cannot be loaded: .*{reason}"
    ) as e:
        Model(folder, 1)
    assert "\n" not in str(e.value)


def test_wait_until_unused(model):
    model.wait_until_unused()
    with model.in_use(), model.in_use():
        waiting = threading.Thread(target=model.wait_until_unused)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()


def test_unknown_signature(model):
    assert model.signature("") is model.signature("default")
    with pytest.raises(ServingError, match="there are default, serving_default, tok"):
        model.signature("classify")
