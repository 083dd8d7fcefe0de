"""An .onnx file is served as a SavedModel is, without TensorFlow."""

import asyncio
import json

import numpy as np
import pytest

import keras_elmo
from keras_elmo.export.onnx import export_onnx
from keras_elmo.serving import rest
from keras_elmo.serving.batcher import Batcher, _count_longest
from keras_elmo.serving.graph_model import GraphModel
from keras_elmo.serving.json_request import JsonRequest
from keras_elmo.serving.limits import Limits
from keras_elmo.serving.model import Model, Signature
from keras_elmo.serving.request import Request, compute
from keras_elmo.serving.versions import ModelManager
from tests.helpers.exports import SENTENCES, TOKENS, embedding, padded
from tests.helpers.fresh_process import run_python
from tests.helpers.tasks import random_classifier, random_tagger
from tests.serving.test_rest import asgi

pytestmark = pytest.mark.graph

LENGTH = "sequence_len"
LENGTHS = np.array([len(tokens) for tokens in TOKENS], "int32")
INPUTS = {
    "default": {"strings": np.array([text.encode() for text in SENTENCES], object)},
    "tokens": {"tokens": padded(TOKENS, 12), "sequence_len": LENGTHS},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    layer = embedding()
    layer.encoder.tokenizer = "whitespace"
    export_onnx(layer, folder / "model.onnx")
    return folder


@pytest.fixture(scope="module")
def models(folder, model):
    """The file, and a SavedModel of the same layer."""
    return GraphModel(folder / "model.onnx", 1), model


@pytest.mark.parametrize("number", [0, 1])
def test_text_without_spaces(number, models):
    """The first request with such text warns."""
    signature = models[number].signature("default")
    strings = np.array(["我们坐在河岸上看船".encode()], object)
    with pytest.warns(UserWarning, match="about 100 % of the letters"):
        signature({"strings": strings}, ["sequence_len"])
    assert signature({"strings": strings}, ["sequence_len"])["sequence_len"] == [1]


@pytest.mark.parametrize("name", INPUTS)
def test_signatures(name, models):
    """Both signatures return the same as those in the SavedModel."""
    found, wanted = (model.signature(name) for model in models)
    assert found.outputs == wanted.outputs
    assert found.arguments == wanted.arguments
    assert found.token_argument == wanted.token_argument
    inputs = INPUTS[name]
    one, other = (each(inputs, found.outputs) for each in (found, wanted))
    for output in found.outputs:
        np.testing.assert_allclose(one[output], other[output], atol=1e-5, rtol=0)
    counted = found(inputs, ["sequence_len"])["sequence_len"]
    np.testing.assert_array_equal(counted, LENGTHS)


def test_definitions(models):
    """Clients are told the same of the signatures, but for names in the graph."""
    for name in INPUTS:
        one, other = (kinds(model, name) for model in models)
        assert one == other


def test_manager(folder):
    """The file is version 1, and is not loaded again."""
    logged = []
    manager = ModelManager(folder / "model.onnx", "elmo", logged.append)
    model = manager.model
    assert (type(model), model.version) == (GraphModel, 1)
    manager.refresh()
    assert manager.model is model and logged == []


def test_damaged_file(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no")
    with pytest.raises(
        ValueError, match=r"model\.onnx: not an ONNX file, or cut short"
    ):
        ModelManager(tmp_path / "model.onnx", "elmo", print)


# ---------------------------------------------------------------- taggers, classifiers


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    random_tagger(static=None).export(folder / "tagger.onnx")
    random_classifier(static=None).export(folder / "classifier.onnx")
    return folder


def predict(path, body):
    """The answer of a server of a file to the body of a `:predict`."""
    models = ModelManager(path, "elmo", print)
    batcher = Batcher(Limits())
    app = rest.rest_app(models, batcher, Limits(), lambda: True)
    try:
        status, answer = asyncio.run(asgi(app, json.dumps(body).encode()))
    finally:
        batcher.close()
    return status, json.loads(answer)


def test_tagger_answers(tasks):
    """Names of tags for words and for texts, by row and by column."""
    tagger = keras_elmo.load(tasks / "tagger.onnx")
    words = [["Ada", "sat", "here"], ["Rome"]]
    (first, second) = tagger.predict(words)
    tokens = [words[0], [*words[1], "", ""]]
    inputs = {"tokens": tokens, "sequence_len": [3, 1]}
    body = {"signature_name": "tokens", "inputs": inputs}
    status, answer = predict(tasks / "tagger.onnx", body)
    assert status == 200
    assert answer["outputs"]["tags"] == [first, [*second, "", ""]]
    assert answer["outputs"]["sequence_len"] == [3, 1]
    scores = np.array(answer["outputs"]["scores"])
    assert ((scores > 0) == [[1, 1, 1], [1, 0, 0]]).all()
    body = {"instances": ["Ada sat here"], "output_filter": ["tags"]}
    answer = predict(tasks / "tagger.onnx", body)
    assert answer == (200, {"predictions": [{"tags": first}]})
    inputs = {"tokens": [["", "Ada"]], "sequence_len": [2]}
    body = {"signature_name": "tokens", "inputs": inputs}
    status, answer = predict(tasks / "tagger.onnx", body)
    assert status == 400 and "no empty string before a word" in answer["error"]
    body = {"inputs": ["Ada"], "output_filter": ["labels"]}
    status, answer = predict(tasks / "tagger.onnx", body)
    assert status == 400 and "'scores', 'sequence_len', 'tags'" in answer["error"]


def test_classifier_answers(tasks):
    classifier = keras_elmo.load(tasks / "classifier.onnx")
    texts = ["a warm film", "", "dull"]
    status, answer = predict(tasks / "classifier.onnx", {"inputs": texts})
    assert status == 200
    assert answer["outputs"]["sequence_len"] == [3, 0, 1]
    words = [text.split() for text in texts]
    wanted = classifier.probabilities(words)
    found = answer["outputs"]["probabilities"]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    labels = [classifier.labels[k] for k in wanted.argmax(axis=1)]
    assert answer["outputs"]["labels"] == labels


def test_padded_to_own_longest(tasks):
    """What clients get does not tell who was answered with them."""
    model = GraphModel(tasks / "tagger.onnx", 1)
    signature = model.signature("tokens")
    requests = []
    for words in (["Ada"], ["Ada", "sat", "here"]):
        inputs = {
            "tokens": padded([words]),
            "sequence_len": np.array([len(words)], "int32"),
        }
        outputs = ["tags", "scores"]
        requests.append(Request(signature, inputs, outputs, 1, len(words)))
    answers = compute(requests)
    assert [answer["tags"].shape for answer in answers] == [(1, 1), (1, 3)]
    assert [answer["scores"].shape for answer in answers] == [(1, 1), (1, 3)]


def check_pairs(model, classifier):
    """Each signature takes both texts; padding and limits count both."""
    u, v = ["the bank", "a dull day"], ["the river is near", "day"]
    expected = classifier.predict_proba([*zip(u, v, strict=True)])
    signature = model.signature("")
    rows = [
        {"strings": one, "second_strings": two} for one, two in zip(u, v, strict=True)
    ]
    body = json.dumps({"instances": rows}).encode()
    inputs = JsonRequest.parse(body).arrays(signature.arguments)
    outputs = ["labels", "probabilities"]
    request = Request(signature, inputs, outputs, 2, 4)
    (answer,) = compute([request])
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
    names = [name.decode() for name in answer["labels"]]
    assert names == [*map(str, classifier.predict([*zip(u, v, strict=True)]))]
    batched = compute([request, request])
    np.testing.assert_allclose(batched[1]["probabilities"], expected, atol=1e-5)
    # The longest text is the second one.
    assert _count_longest(signature, inputs) == 4
    signature = model.signature("tokens")
    inputs = {}
    for prefix, texts in {"": u, "second_": v}.items():
        words = [text.split() for text in texts]
        inputs[f"{prefix}tokens"] = padded(words)
        inputs[f"{prefix}sequence_len"] = np.array([*map(len, words)], "int32")
    assert inputs.keys() == signature.arguments.keys()
    (answer,) = compute([Request(signature, inputs, outputs, 2, 4)])
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)


def kinds(model, signature):
    """The names and types of inputs and outputs, as clients are told."""
    definition = model.signature_defs[signature]
    return {
        side: {name: tensor["dtype"] for name, tensor in definition[side].items()}
        for side in ("inputs", "outputs")
    }


@pytest.fixture
def cold(monkeypatch):
    """Graphs are made when they are called."""
    monkeypatch.setattr(Signature, "warm_up", lambda signature: None)


@pytest.mark.slow
def test_saved_model_of_a_tagger(tmp_path, cold):
    """A folder, an .onnx file and a .keras file have the same signatures."""
    task = random_tagger(static=None)
    task.elmo.encoder.tokenizer = "whitespace"
    # As after training: Keras warns of a file without its state.
    task.optimizer.build(task.trainable_variables)
    task.export(tmp_path / "folder")
    task.export(tmp_path / "file.onnx")
    task.save(tmp_path / "file.keras")
    ours = ModelManager(tmp_path / "file.onnx", "elmo", print).model
    for name, asked in (("folder", INPUTS), ("file.keras", {"default"})):
        theirs = ModelManager(tmp_path / name, "elmo", print).model
        for signature in INPUTS:
            one, other = (model.signature(signature) for model in (theirs, ours))
            for attribute in ("arguments", "outputs", "token_outputs", "batchable"):
                assert getattr(one, attribute) == getattr(other, attribute)
            assert kinds(theirs, signature) == kinds(ours, signature)
            if signature in asked:
                inputs = INPUTS[signature]
                answer, wanted = (x(inputs, one.outputs) for x in (one, other))
                assert answer["tags"].tolist() == wanted["tags"].tolist()
                np.testing.assert_allclose(
                    answer["scores"], wanted["scores"], atol=1e-4
                )
                np.testing.assert_array_equal(answer[LENGTH], wanted[LENGTH])
                assert one(inputs, one.outputs[:1]).keys() == {*one.outputs[:1]}


@pytest.mark.slow
def test_saved_model_of_pairs(tmp_path, cold):
    classifier = random_classifier(static=None, pairs=True)
    classifier.export(tmp_path / "pairs")
    classifier.export(tmp_path / "pairs.onnx")
    model, ours = Model(tmp_path / "pairs", 1), GraphModel(tmp_path / "pairs.onnx", 1)
    for checked in (model, ours):
        check_pairs(checked, classifier)
    for signature in ("default", "tokens"):
        assert kinds(model, signature) == kinds(ours, signature)


_FRESH = """
import sys
import keras_elmo.serving.server
from keras_elmo.serving.graph_model import GraphModel
from keras_elmo.serving.request import Request, compute
GraphModel(sys.argv[1], 1)
print(sorted({"tensorflow", "keras"} & sys.modules.keys()))
"""


def test_without_tensorflow(folder):
    """A server of such a file imports neither TensorFlow nor Keras."""
    printed = run_python("-c", _FRESH, folder / "model.onnx", cwd=folder)
    assert printed.splitlines()[-1] == "[]"


def test_command(folder, served):
    """`keras-elmo serve` answers over REST alone, and ends in order."""
    path = folder / "model.onnx"
    with served(path) as server:
        assert (server.name, server.grpc_port) == ("model", None)
        found = server.predict(inputs=SENTENCES, output_filter=["default"])
    wanted = GraphModel(path, 1).signature("default")(INPUTS["default"], ["default"])
    np.testing.assert_allclose(found["default"], wanted["default"], atol=1e-5, rtol=0)
