"""A downstream model with its head gives its own outputs in other runtimes."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.onnx import export_onnx
from keras_elmo.text.character_ids import CharacterIds
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.utils import keras_private
from tests.helpers.combinations import BATCHES
from tests.helpers.installed import import_installed, require_installed
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import SENTENCES, SMALLER, char_ids, random_encoder

pytestmark = pytest.mark.graph

FORMATS = {"litert": ".tflite", "onnx": ".onnx", "openvino": ".xml"}


def classifier(layer):
    """Character ids to probabilities."""
    ids = keras.Input((None, 50), dtype="int32", name="char_ids")
    sentence = keras.layers.GlobalAveragePooling1D()(layer(ids))
    return keras.Model(ids, keras.layers.Dense(3, activation="softmax")(sentence))


@pytest.fixture(scope="module")
def model():
    return classifier(ElmoEmbedding(random_encoder(SMALLER)))


def litert(path):
    interpreter = import_installed("ai_edge_litert.interpreter").Interpreter(path)
    input_index, output_index = (
        details()[0]["index"]
        for details in (interpreter.get_input_details, interpreter.get_output_details)
    )

    def run(ids):
        interpreter.resize_tensor_input(input_index, ids.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(input_index, ids)
        interpreter.invoke()
        return interpreter.get_tensor(output_index)

    return run


def onnx(path):
    session = import_installed("onnxruntime").InferenceSession(path)
    return lambda ids: session.run(None, {session.get_inputs()[0].name: ids})[0]


def openvino(path):
    openvino = import_installed("openvino")
    # Its default on a processor that has it is bfloat16.
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(path, "CPU", exact)
    return lambda ids: compiled(ids)[0]


def require(format):
    """Skips where the runtime, or what writes its file, is not installed."""
    modules = {"litert": ["ai_edge_litert"], "onnx": ["tf2onnx", "onnxruntime"]}
    for module in modules.get(format, [format]):
        require_installed(module)


# Keras makes the graph, and a converter writes it: 10 s each.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("format", FORMATS)
def test_runtime(format, model, tmp_path):
    """Sentences of any lengths, in batches of any sizes, give the model's outputs."""
    require(format)
    path = str(tmp_path / f"model{FORMATS[format]}")
    if format == "onnx":
        export_onnx(model, path)
    else:
        model.export(path, format=format, verbose=False)
    run = {"litert": litert, "onnx": onnx, "openvino": openvino}[format](path)
    for sentences in BATCHES.values():
        ids = char_ids(sentences, extra=1)
        np.testing.assert_allclose(run(ids), numpy_of(model(ids)), atol=1e-5)


@pytest.mark.parametrize("format", ["ONNX", "OpenVINO"])
def test_exported_graph(format, monkeypatch):
    """It computes the same with common operators; the second layer skips."""
    encoder = random_encoder(dataclasses.replace(SMALLER, num_layers=2))
    model = classifier(ElmoEmbedding(encoder, layer_norm=True))
    ids = char_ids(SENTENCES, extra=2)
    wanted = numpy_of(model(ids))
    # This test is taken for Keras's exporter.
    monkeypatch.setitem(keras_private._FORMATS, __name__, format)
    signature = [tf.TensorSpec([None, None, 50], tf.int32)]
    function = tf.function(lambda ids: model(ids), signature, autograph=False)
    np.testing.assert_allclose(function(ids), wanted, atol=1e-6)
    graph = function.get_concrete_function().graph.as_graph_def()
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    absent = {"UniqueV2", "TensorListReserve", "TensorListSetItem", "ScatterNd"}
    assert not {node.op for node in nodes} & absent


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("format", FORMATS)
def test_strings_are_refused(format, tmp_path):
    """Before anything is written."""
    require(format)
    text = keras.Input((), dtype="string")
    layers = (
        Tokenizer("whitespace"),
        CharacterIds(),
        ElmoEmbedding(random_encoder(SMALLER)),
    )
    outputs = text
    for layer in layers:
        outputs = layer(outputs)
    path = str(tmp_path / f"model{FORMATS[format]}")
    model = keras.Model(text, outputs)
    with pytest.raises(ValueError, match=r"Tokenizer takes strings, .* character ids"):
        if format == "onnx":
            export_onnx(model, path)
        else:
            model.export(path, format=format, verbose=False)
    assert not list(tmp_path.iterdir())


def test_types_are_refused(monkeypatch):
    model = classifier(ElmoEmbedding(random_encoder(SMALLER).with_dtype("bfloat16")))
    monkeypatch.setitem(keras_private._FORMATS, __name__, "ONNX")
    with pytest.raises(ValueError, match="must compute in float32: .* bfloat16"):
        model(char_ids(SENTENCES))


def test_no_export():
    """Elsewhere the graph is the fast one."""
    assert keras_private.export_format() is None
