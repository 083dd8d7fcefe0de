"""A tagger or a classifier gives its own answers wherever it runs."""

import json
import zipfile

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.downstream.tagger import Tagger
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import import_installed
from tests.helpers.small import SENTENCES, random_encoder
from tests.helpers.tasks import (
    TAGS,
    ids_of,
    random_classifier,
    random_tagger,
)

pytestmark = pytest.mark.graph

on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="a graph of TensorFlow"
)
MORE = [*SENTENCES, ["Ada"] * 60, ["The", "Bank", "of", "Ada"]]
TEXTS = [" ".join(words) for words in SENTENCES if words]


@pytest.fixture(scope="module")
def tagger():
    return random_tagger()


@pytest.fixture(scope="module")
def onnx_file(tagger, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "names.onnx"
    tagger.export(path)
    return path


def named(tags):
    """Rows of indices as names, without the padding."""
    return [[TAGS[k] for k in row if k >= 0] for row in tags.tolist()]


def of_saved_model(path, sentences):
    """The outputs of the signature `tokens`, as arrays by their names."""
    import tensorflow as tf

    tokens = tf.ragged.constant(sentences, dtype=tf.string).to_tensor("")
    if len(tokens.shape) == 1:
        tokens = tf.zeros((len(sentences), 0), tf.string)
    lengths = tf.constant([len(words) for words in sentences], tf.int32)
    function = tf.saved_model.load(str(path)).signatures["tokens"]
    outputs = function(tokens=tokens, sequence_len=lengths)
    return {name: value.numpy() for name, value in outputs.items()}


@on_tensorflow
@pytest.mark.parametrize("arguments", [{}, {"crf": False, "lstm_units": 0}])
def test_onnx_tagger(arguments, tmp_path):
    """The same tags, of lists, texts and streams, in any batches."""
    tagger = random_tagger(**arguments)
    tagger.export(tmp_path / "names.onnx")
    loaded = keras_elmo.load(tmp_path / "names.onnx")
    wanted = tagger.predict(MORE)
    assert len({tag for row in wanted for tag in row}) > 1
    assert loaded.tags == TAGS
    assert loaded.predict(MORE) == loaded.predict(MORE, batch_size=1) == wanted
    assert list(loaded.tag(iter(MORE))) == list(zip(MORE, wanted, strict=True))
    assert loaded.predict(["Ada sat"]) == tagger.predict(["Ada sat"])
    pairs = zip(loaded.marginals(MORE), tagger.marginals(MORE), strict=True)
    for (words, found), (_, probabilities) in pairs:
        assert found.shape == probabilities.shape == (len(words), len(TAGS))
        np.testing.assert_allclose(found, probabilities, atol=1e-4)
    assert loaded.predict([]) == [] and loaded.predict([[], []]) == [[], []]
    # Some of the right tags are others.
    right = [row if k % 2 else ["O"] * len(row) for k, row in enumerate(wanted)]
    scores = tagger.evaluate(MORE, right)
    assert loaded.evaluate(MORE, right, batch_size=2) == scores
    assert 0 < scores["f1"] < 1


@on_tensorflow
def test_saved_model(tagger, onnx_file, tmp_path):
    """Names, padded with ""; scores as of ONNX; what is beyond a length is not read."""
    tagger.export(tmp_path / "names", tokenizer="whitespace")
    found = of_saved_model(tmp_path / "names", MORE)
    tags = [[tag.decode() for tag in row if tag] for row in found["tags"]]
    assert tags == tagger.predict(MORE)
    sentences = [[word.encode() for word in words] for words in MORE]
    session = keras_elmo.load(onnx_file)
    outputs = session.run(sentences, ["tags", "scores"])
    assert named(outputs["tags"]) == tags
    np.testing.assert_allclose(found["scores"], outputs["scores"], atol=1e-4)
    is_word = outputs["tags"] >= 0
    assert ((outputs["scores"] > 0) == is_word).all()
    assert found["sequence_len"].tolist() == [*map(len, MORE)]

    import tensorflow as tf

    loaded = tf.saved_model.load(str(tmp_path / "names"))
    cut = loaded.signatures["tokens"](
        tokens=tf.constant([["Ada", "sat", "x"]]), sequence_len=[2]
    )["tags"].numpy()
    assert [[tag.decode() for tag in row] for row in cut] == [
        [*tagger.predict([["Ada", "sat"]])[0], ""]
    ]
    none = loaded.signatures["tokens"](
        tokens=tf.zeros((2, 0), tf.string), sequence_len=[0, 0]
    )
    assert none["tags"].shape == (2, 0)
    for name in ("default", "serving_default"):
        texts = loaded.signatures[name](strings=tf.constant(["Ada sat", ""]))
        assert texts["sequence_len"].numpy().tolist() == [2, 0]
        assert texts["tags"].numpy()[0].tolist() == cut[0, :2].tolist()


# The graph is traced and converted: 15 s.
@pytest.mark.slow
@on_tensorflow
def test_litert(tagger, tmp_path):
    """Sentences of any lengths, in operators that every interpreter has."""
    interpreters = import_installed("ai_edge_litert.interpreter")
    path = tmp_path / "names.tflite"
    tagger.export(path)
    run = interpreters.Interpreter(str(path)).get_signature_runner()
    for sentences in (MORE, MORE[:2], [["Ada"]]):
        found = run(**ids_of(tagger, sentences))
        assert named(found["tags"]) == tagger.predict(sentences)
    assert found["scores"].shape == (1, 1) and 0 < found["scores"] <= 1
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("keras_elmo.json"))
    assert about["task"]["names"] == TAGS
    assert about["static_words"] == tagger.static.words


def test_int8(tagger, onnx_file, tmp_path):
    """Smaller, and nearly the same: the matrices alone have 8 bits."""
    path = tmp_path / "small.onnx"
    tagger.export(path, quantize="int8")
    loaded = keras_elmo.load(path)
    assert loaded.quantize == "int8"
    assert path.stat().st_size < onnx_file.stat().st_size
    sentences = [[word.encode() for word in words] for words in MORE]
    exact, rounded = (
        model.run(sentences, ["scores"])["scores"]
        for model in (keras_elmo.load(onnx_file), loaded)
    )
    assert np.abs(exact - rounded).mean() < 0.1


CLASSIFIERS = {
    "all layers": {},
    "pooled vectors": {"static": None, "lstm_units": 0, "hidden": 0, "pooling": "max"},
    "several labels": {"multi_label": True, "pooling": ("max", "mean")},
    "pairs": {"pairs": True},
    "integers": {"labels": [3, 5]},
}


@on_tensorflow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_onnx_classifier(kind, tmp_path):
    """The same probabilities and labels, of texts and of words."""
    classifier = random_classifier(**CLASSIFIERS[kind])
    classifier.export(tmp_path / "film.onnx", format="onnx")
    loaded = keras_elmo.load(tmp_path / "film.onnx")
    texts = [words for words in SENTENCES if words] + TEXTS
    if classifier.pairs:
        texts = list(zip(texts, reversed(texts), strict=True))
    wanted = classifier.predict_proba(texts)
    found = loaded.predict_proba(texts)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(loaded.predict_proba(texts, 1), wanted, atol=1e-5)
    predicted = classifier.predict(texts)
    if not classifier.multi_label:
        predicted = [*map(str, predicted)]
    assert loaded.predict(texts) == predicted
    assert loaded.labels == [*map(str, classifier.labels)]
    # Some of the right labels are others.
    right = classifier.predict(texts)
    right[::2] = [right[1]] * len(right[::2])
    scores, found = (model.evaluate(texts, right) for model in (classifier, loaded))
    by_label = scores.pop("by_label")
    assert found.pop("by_label") == {str(k): row for k, row in by_label.items()}
    assert found == scores and 0 < scores["accuracy"] <= 1


# Three graphs are traced: 15 s.
@pytest.mark.slow
@on_tensorflow
@pytest.mark.parametrize("multi_label", [False, True])
def test_classifier_elsewhere(multi_label, tmp_path):
    """SavedModel and LiteRT: an empty text, a batch without words."""
    classifier = random_classifier(multi_label=multi_label)
    classifier.export(tmp_path / "film")
    wanted = classifier.predict_proba([words for words in SENTENCES if words])
    found = of_saved_model(tmp_path / "film", SENTENCES)
    kept = [k for k, words in enumerate(SENTENCES) if words]
    np.testing.assert_allclose(found["probabilities"][kept], wanted, atol=1e-5)
    labels = np.array([label.encode() for label in classifier.labels], object)
    if multi_label:
        expected = np.where(found["probabilities"] >= 0.5, labels, b"")
    else:
        expected = labels[found["probabilities"].argmax(axis=1)]
    assert found["labels"].tolist() == expected.tolist()
    none = of_saved_model(tmp_path / "film", [[], []])
    assert np.isfinite(none["probabilities"]).all()
    if multi_label:
        return
    interpreters = import_installed("ai_edge_litert.interpreter")
    classifier.export(tmp_path / "film.tflite")
    file = str(tmp_path / "film.tflite")
    outputs = interpreters.Interpreter(file).get_signature_runner()(
        **ids_of(classifier, SENTENCES)
    )
    np.testing.assert_allclose(
        outputs["probabilities"], found["probabilities"], atol=1e-5
    )
    words = [words for words in SENTENCES if words]
    loaded = keras_elmo.load(file)
    np.testing.assert_allclose(loaded.predict_proba(words), wanted, atol=1e-5)
    assert loaded.predict(words) == classifier.predict(words)


_FRESH = """
import sys
import keras_elmo
tagger = keras_elmo.load(sys.argv[1])
(tags,) = tagger.predict(["The bank, closed."])
assert len(tags) == 3, tags
names = "h5py jax keras onnx pandas torch tensorflow tensorflow_text".split()
print(sorted(set(names) & sys.modules.keys()))
"""


def test_without_tensorflow(onnx_file, tmp_path):
    """A process that tags imports neither TensorFlow nor Keras."""
    printed = run_python("-c", _FRESH, onnx_file, cwd=tmp_path)
    assert printed.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"filepath": "x", "format": "h5"}, "`format` must be"),
        ({"filepath": "x", "format": "onnx"}, "`filepath` must be a name in .onnx"),
        ({"filepath": "x.onnx", "quantize": "int4"}, "`quantize` must be"),
        ({"filepath": "x", "quantize": "int8"}, "`quantize` must be None for a Saved"),
        ({"filepath": "x.pdf"}, "`filepath` must be the name of a folder, .* in .pdf"),
        ({"filepath": "x", "tokenizer": "words"}, "`tokenizer` must be"),
        ({"filepath": "x.onnx", "tokenizer": None}, "`tokenizer` must be 'own' for a"),
    ],
)
def test_refuses(arguments, message, tagger, tmp_path, monkeypatch):
    """Before anything is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        tagger.export(**arguments)
    assert not list(tmp_path.iterdir())


def test_refuses_models(tagger, onnx_file, tmp_path):
    with pytest.raises(ValueError, match=r"names\.onnx exists already"):
        tagger.export(onnx_file)
    with pytest.raises(ValueError, match="`tags` must be given, or learned"):
        Tagger(random_encoder()).export(tmp_path / "names.onnx")
    with pytest.raises(ValueError, match="must be trained first"):
        keras_elmo.TextClassifier(random_encoder()).export(tmp_path / "film.onnx")
    if keras.backend.backend() != "tensorflow":
        with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
            tagger.export(tmp_path / "names")
    assert not list(tmp_path.iterdir())
