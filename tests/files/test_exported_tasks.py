"""A tagger or a classifier in an .onnx file that anybody may have made."""

import json

import numpy as np
import onnx
import pytest

import keras_elmo
from keras_elmo.files.onnx_session import GraphSession
from tests.files.test_onnx_session import changed
from tests.helpers.tasks import random_classifier, random_tagger

pytestmark = pytest.mark.graph


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    random_tagger().export(folder / "tagger.onnx")
    random_classifier().export(folder / "classifier.onnx")
    return folder


def with_task(file, path, **changes):
    """A copy of a file that describes another task."""
    entries = {entry.key: entry.value for entry in onnx.load(file).metadata_props}
    about = json.loads(entries["keras_elmo"])
    about["task"] = {**about["task"], **changes}
    return changed(file, path, keras_elmo=json.dumps(about))


def test_pairs(files, tmp_path):
    """A pair of texts has inputs for each."""
    for file in ("tagger.onnx", "classifier.onnx"):
        path = with_task(files / file, tmp_path / "bad.onnx", pairs=True)
        with pytest.raises(ValueError, match=r"bad\.onnx: .* be char_ids, .*second_"):
            keras_elmo.load(path)


def test_another_task(files, tmp_path):
    """A tagger has no probabilities, a classifier has no tags."""
    for file, kind in (("tagger.onnx", "classifier"), ("classifier.onnx", "tagger")):
        path = with_task(files / file, tmp_path / "bad.onnx", kind=kind)
        with pytest.raises(ValueError, match=r"bad\.onnx: .* must have [23] axes"):
            keras_elmo.load(path)


def test_too_few_names(files, tmp_path):
    path = with_task(files / "tagger.onnx", tmp_path / "bad.onnx", names=["O"])
    with pytest.raises(ValueError, match="marginals must have 3 axes, the last of 1"):
        keras_elmo.load(path)
    path = with_task(files / "classifier.onnx", tmp_path / "bad.onnx", names=["a"])
    with pytest.raises(ValueError, match="probabilities .* 2 axes, the last of 1"):
        keras_elmo.load(path)


def test_repr(files):
    tagger = keras_elmo.load(files / "tagger.onnx")
    tags = "['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC']"
    assert repr(tagger) == f"ExportedTagger({tagger.path!r}, tags={tags})"
    classifier = keras_elmo.load(files / "classifier.onnx")
    labels = "labels=['bad', 'good', 'so-so'], multi_label=False, pairs=False"
    assert repr(classifier) == f"ExportedClassifier({classifier.path!r}, {labels})"


def test_static_words(files, tmp_path):
    """They are in the file; without them it has an input too many."""
    tagger = keras_elmo.load(files / "tagger.onnx")
    sentences = [[b"Ada", b"ADA", b"the", b"The", b"unknown"]]
    ids = tagger.feeds(sentences, 6)["static_ids"]
    assert ids.tolist() == [[4, 1, 2, 2, 1, 0]]
    path = changed(files / "tagger.onnx", tmp_path / "bad.onnx", static_words=None)
    with pytest.raises(ValueError, match=r"bad\.onnx: .* inputs must be char_ids"):
        keras_elmo.load(path)
    path = changed(files / "tagger.onnx", tmp_path / "bad.onnx", static_words="{")
    with pytest.raises(ValueError, match=r"bad\.onnx: .* description is damaged"):
        keras_elmo.load(path)


def test_tags_without_a_name(files, monkeypatch):
    """As of a graph that anybody may have made."""
    tagger = keras_elmo.load(files / "tagger.onnx")
    for wrong in (len(tagger.tags), -2):
        actual = {"tags": np.array([[wrong]], "int32")}
        monkeypatch.setattr(GraphSession, "run", lambda *_, actual=actual: actual)
        with pytest.raises(ValueError, match=r"tagger\.onnx: .* tags without a name"):
            tagger.predict([["Ada"]])
