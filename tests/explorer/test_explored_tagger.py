"""Tags and their probabilities, against the CRF of the same tagger."""

import re
from unittest import mock

import keras
import numpy as np
import pytest

from keras_elmo.downstream.tagger import Tagger
from keras_elmo.downstream.task_model import TaskModel
from keras_elmo.explorer.explored_tagger import ExploredTagger
from keras_elmo.layers.crf_paths import crf_decode, crf_marginals
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import random_encoder
from tests.helpers.tasks import TAGS, ids_of, random_classifier, random_tagger

pytestmark = [pytest.mark.graph, pytest.mark.usefixtures("eagerly")]

# A word of two bytes a letter and one that no vocabulary has; one word; many.
SENTENCES = [
    ("the", "bank", "Ada", "배", "x" * 500),
    ("Ada",),
    ("Ada", "bank", "the", "배") * 9,
]


@pytest.fixture(scope="module")
def tagger():
    return random_tagger()


def outputs_of(tagger, words):
    """What the model itself computes of a sentence."""
    ids = ids_of(tagger, [words])
    inputs = {"words": ids["char_ids"], "static": ids["static_ids"]}
    return tagger(inputs, training=False)


def check(answer, words, tags, probabilities):
    assert answer["others"] == 0
    assert [each["word"] for each in answer["words"]] == [*words]
    assert [each["tag"] for each in answer["words"]] == tags.tolist()
    for each, expected in zip(answer["words"], probabilities, strict=True):
        numbers, found = zip(*each["marginals"], strict=True)
        assert sorted(numbers) == [*range(len(TAGS))]
        np.testing.assert_allclose(found, expected[[*numbers]], atol=2e-5)
        assert [*found] == sorted(found, reverse=True)


@pytest.mark.parametrize("words", SENTENCES, ids=len)
def test_crf(tagger, words):
    """The best path, and the sums over all paths."""
    potentials = outputs_of(tagger, words)
    tags, marginals = crf_decode(potentials)[0], crf_marginals(potentials)
    answer = ExploredTagger(tagger, "ner").tag(words)
    check(answer, words, numpy_of(tags)[0], numpy_of(marginals)[0])
    # The constraints of BIO let I only go on with a span.
    for each in answer["words"]:
        assert each["joins"] == TAGS[each["tag"]].startswith("I-")


def test_softmax():
    """Without a CRF each word has the tag that is likeliest by itself."""
    tagger = random_tagger(crf=False)
    logits = numpy_of(outputs_of(tagger, SENTENCES[0]))[0].astype("float64")
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    explored = ExploredTagger(tagger, "ner")
    assert explored.describe()["crf"] is False
    answer = explored.tag(SENTENCES[0])
    check(answer, SENTENCES[0], logits.argmax(axis=1), probabilities)


def test_describe(tagger):
    """The tags of a type have one number; a part of speech is a type of its own."""
    found = ExploredTagger(tagger, "ner.keras").describe()
    types = [-1, 0, 0, 1, 1]
    expected = [{"name": t, "type": k} for t, k in zip(TAGS, types, strict=True)]
    assert found == {"name": "ner.keras", "crf": True, "tags": expected}
    tagger = Tagger(random_encoder(), tags=["NOUN", "O", "VERB"], lstm_units=0)
    found = ExploredTagger(tagger, "pos").describe()["tags"]
    assert [tag["type"] for tag in found] == [0, 1, 2]
    answer = ExploredTagger(tagger, "pos").tag(("a", "b", "c"))
    assert not any(word["joins"] for word in answer["words"])


def test_many_tags():
    """The answer has the likeliest tags, the chosen one, and the number of the rest."""
    tags = [f"T{k}" for k in range(300)]
    tagger = Tagger(random_encoder(), tags=tags, lstm_units=0, crf=False)
    explored = ExploredTagger(tagger, "many")
    answer = explored.tag(("a", "b"))
    ((_, marginals),) = tagger.marginals([["a", "b"]])
    assert answer["others"] == 276
    for word, row in zip(answer["words"], marginals, strict=True):
        assert [k for k, _ in word["marginals"]] == np.argsort(-row)[:24].tolist()
    # The best path may go through a tag that is unlikely by itself.
    unlikely = int(marginals[0].argmin())
    names = [tagger.tags[unlikely], tagger.tags[0]]
    both = [(["a", "b"], names, marginals)]
    with mock.patch.object(Tagger, "tags_and_marginals", return_value=both):
        word = explored.tag(("a", "b"))["words"][0]
    assert word["tag"] == unlikely and len(word["marginals"]) == 24
    assert word["marginals"][-1] == [unlikely, pytest.approx(marginals[0].min(), 0.1)]


def test_one_pass(tagger):
    """The biLM reads a sentence once for tags and probabilities."""
    with mock.patch.object(Tagger, "_precomputed", autospec=True) as passes:
        passes.side_effect = TaskModel._precomputed
        ExploredTagger(tagger, "ner").tag(SENTENCES[0])
    assert passes.call_count == 1


def test_tokenizer(tagger):
    """Sentences are split as the tagger's, or as asked."""
    assert ExploredTagger(tagger, "ner").tokens(" \n") == ()
    for kind, words in {
        "whitespace": ("the", "bank's"),
        "published": ("the", "bank", "'s"),
    }.items():
        assert ExploredTagger(tagger, "ner", kind).tokens("the bank's") == words


def test_load(tagger, tmp_path):
    path = str(tmp_path / "ner.keras")
    # As after training: the file has the optimizer's weights.
    tagger.optimizer.build(tagger.trainable_variables)
    tagger.save(path)
    loaded, given = ExploredTagger.load(path), ExploredTagger(tagger, "ner.keras")
    assert loaded.describe() == given.describe()
    assert loaded.tag(SENTENCES[0]) == given.tag(SENTENCES[0])
    size = (tmp_path / "ner.keras").stat().st_size
    content = bytearray((tmp_path / "ner.keras").read_bytes())
    content[size // 2 : size // 2 + 1000] = bytes(1000)
    (tmp_path / "damaged.keras").write_bytes(content)
    with pytest.warns(UserWarning, match="not yet been built"):
        Tagger(random_encoder(), lstm_units=0).save(tmp_path / "untrained.keras")
    random_classifier().save(tmp_path / "mood.keras")
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(
        tmp_path / "other.keras"
    )
    (tmp_path / "ner.onnx").touch()
    for name, said in {
        "nowhere.keras": "no such file or folder. `tagger` must be a .keras file",
        "damaged.keras": "cannot be loaded: ",
        "untrained.keras": "must hold a Tagger that was trained",
        "mood.keras": "must hold a Tagger. Received: a TextClassifier",
        "other.keras": "must hold a Tagger. Received: another model",
        "ner.onnx": "is an ONNX file; `tagger` must be a .keras file",
    }.items():
        with pytest.raises(ValueError, match=re.escape(f"{name}: {said}")):
            ExploredTagger.load(str(tmp_path / name))
