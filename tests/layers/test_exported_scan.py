import keras
import numpy as np
import pytest

from keras_elmo.layers.bilm import run_bilstm
from keras_elmo.layers.crf import CRF
from keras_elmo.layers.crf_paths import crf_decode, crf_marginals
from keras_elmo.utils.keras_private import export_format, exporting
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import randomise

pytestmark = [
    pytest.mark.graph,
    pytest.mark.skipif(
        keras.backend.backend() != "tensorflow", reason="files are TensorFlow's"
    ),
]


def operators(function, *inputs):
    """The result of a graph for LiteRT, and the kinds of its operators."""
    import tensorflow as tf

    specs = [tf.TensorSpec([None, None, *x.shape[2:]], x.dtype) for x in inputs]
    with exporting("LiteRT"):
        concrete = tf.function(function, specs, autograph=False).get_concrete_function()
    graph = concrete.graph.as_graph_def()
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    return concrete(*map(tf.constant, inputs)), {node.op for node in nodes}


def test_paths():
    """The same paths, without arrays of tensors."""
    crf = CRF(3, ["O", "B-PER", "I-PER"])
    rng = np.random.default_rng(0)
    crf.build((None, None, 3))
    randomise(crf, rng, 1.0)
    scores = rng.normal(size=(3, 5, 3)).astype("float32")
    mask = np.arange(5) < np.array([[5], [0], [2]])
    potentials = numpy_of(crf(scores, mask=mask))
    for function in (lambda x: crf_decode(x)[0], crf_marginals):
        found, kinds = operators(function, potentials)
        np.testing.assert_allclose(found, numpy_of(function(potentials)), atol=1e-6)
        assert not [kind for kind in kinds if "TensorList" in kind or "Bitwise" in kind]
    assert export_format() is None


def test_bilstm():
    lstm = keras.layers.LSTM(4, return_sequences=True)
    layer = keras.layers.Bidirectional(lstm)
    layer.build((None, None, 3))
    rng = np.random.default_rng(0)
    randomise(layer, rng, 0.7)
    x = rng.normal(size=(3, 5, 3)).astype("float32")
    mask = np.arange(5) < np.array([[5], [0], [2]])
    found, kinds = operators(lambda x, m: run_bilstm(layer, x, m), x, mask)
    wanted = numpy_of(run_bilstm(layer, x, mask))
    np.testing.assert_allclose(numpy_of(found)[mask], wanted[mask], atol=1e-5)
    assert not [kind for kind in kinds if "TensorList" in kind]
