import keras
import numpy as np
import onnxruntime
import pytest

from keras_elmo.onnx_graphs.graph import OnnxGraph
from keras_elmo.onnx_graphs.heads import add_bilstm, add_static
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import randomise


def test_bilstm():
    """Each sentence as Keras has it, however long the others are."""
    lstm = keras.layers.LSTM(5, return_sequences=True)
    layer = keras.layers.Bidirectional(lstm)
    layer.build((None, None, 4))
    rng = np.random.default_rng(0)
    randomise(layer, rng, 0.7)
    graph = OnnxGraph("heads")
    x = graph.input("x", "float32", ("batch", "tokens", 4))
    lengths = graph.input("lengths", "int32", ("batch",))
    axes = ("batch", "tokens", 10)
    graph.output(add_bilstm(graph, layer, x, lengths), "float32", axes, "y")
    session = onnxruntime.InferenceSession(graph.serialize({}))
    for sizes in ([3, 0, 6, 1], [0], [2, 2]):
        inputs = rng.normal(size=(len(sizes), max(sizes), 4)).astype("float32")
        lengths = np.array(sizes, "int32")
        (actual,) = session.run(None, {"x": inputs, "lengths": lengths})
        assert actual.shape == (len(sizes), max(sizes), 10)
        for row, sentence, size in zip(actual, inputs, sizes, strict=True):
            if size:
                wanted = numpy_of(layer(sentence[np.newaxis, :size]))[0]
                np.testing.assert_allclose(row[:size], wanted, atol=1e-5)
            np.testing.assert_array_equal(row[size:], 0)


@pytest.mark.parametrize(("int8", "tolerance"), [(False, 0), (True, 0.01)])
def test_static(int8, tolerance):
    """The id 0 has no vector; 8 bits are close, whatever the size of a vector."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(6, 3)).astype("float32") * 10.0 ** np.arange(6)[:, None]
    graph = OnnxGraph("heads", int8=int8)
    ids = graph.input("ids", "int32", ("batch", "tokens"))
    graph.output(add_static(graph, table, ids), "float32", ("b", "t", 3), "y")
    session = onnxruntime.InferenceSession(graph.serialize({}))
    ids = np.array([[0, 5, 2], [1, 3, 4]], "int32")
    (actual,) = session.run(None, {"ids": ids})
    wanted = np.where(ids[..., np.newaxis] > 0, table[ids], 0)
    scale = np.abs(wanted).max(axis=-1, keepdims=True) + 1e-30
    np.testing.assert_allclose(actual / scale, wanted / scale, atol=tolerance)
