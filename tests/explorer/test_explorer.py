"""The answers of the explorer, against the functions that a user calls."""

from unittest import mock

import numpy as np
import pytest

import keras_elmo
from keras_elmo.embedding.embedder import Embedder
from keras_elmo.explorer import explored_text
from keras_elmo.explorer.explorer import Explorer
from keras_elmo.serving.limits import ServingError
from keras_elmo.words.index import Index
from keras_elmo.words.predictions import Predictions
from keras_elmo.words.token_vectors import contexts_of
from tests.explorer.conftest import KOREAN, TEXT, WORDS, small_model
from tests.helpers.layer_checks import numpy_of

pytestmark = pytest.mark.graph

SENTENCE = ("we", "sat", "on", "the", "bank", "of", "a", "bank")


@pytest.fixture(scope="module")
def model():
    return small_model(WORDS)


def test_neighbours(explorer, model):
    """Each layer has the neighbours from its own index, for the chosen word."""
    found = explorer.neighbours(SENTENCE, 7)["layers"]
    assert len(found) == 3
    for layer, rows in enumerate(found):
        index = Index.build(model.encoder, TEXT, layer)
        vectors = next(keras_elmo.embed(model, [list(SENTENCE)]))[layer, 7]
        expected = index.closest(vectors, 12)
        cosines = [row["cosine"] for row in rows]
        assert cosines == pytest.approx([e.cosine for e in expected], abs=1e-3)
        assert cosines == sorted(cosines, reverse=True)
    assert [row["word"] for row in found[2]] == [each.word for each in expected]
    same = explorer.neighbours(SENTENCE, 7, "bank")["layers"][2]
    assert {row["word"] for row in same} == {"bank", "Bank"}


def test_neighbour_has_its_sentence(model):
    """All of it, however few words are shown."""
    sentence = [*["we"] * 15, "bank", *["of"] * 15]
    found = Explorer(model, [sentence]).neighbours(("bank",), 0, "bank")
    for (row,) in found["layers"]:
        assert row["text"].split() == sentence and row["position"] == 15
        assert len(row["before"].split()) == len(row["after"].split()) == 10


def test_own_sentence_is_left_out(explorer):
    """A sentence of the text finds other ones."""
    tokens = tuple(TEXT[0])
    for rows in explorer.neighbours(tokens, 1, "bank")["layers"]:
        assert "bank of the river" not in {
            f"{row['word']} {row['after']}" for row in rows
        }
    points = explorer.map(tokens, 1, "bank")["points"]
    assert sum(point["after"] == "of the river" for point in points) == 1


def test_substitutes(explorer, model):
    """Of both sides as the function of the same name."""
    found = explorer.substitutes(SENTENCE, 4)
    expected = keras_elmo.substitutes(model, list(SENTENCE), 4, num=10)
    assert [row["word"] for row in found["both"]] == [e.word for e in expected]
    for name in ("both", "forward", "backward"):
        numbers = [row["probability"] for row in found[name]]
        assert numbers == sorted(numbers, reverse=True) and len(numbers) == 10
    best = max(
        keras_elmo.substitutes(model, list(SENTENCE), 4, num=100),
        key=lambda each: each.forward,
    )
    assert found["forward"][0]["word"] == best.word


def test_map(explorer):
    """A point for each occurrence, in the order of the clusters' sizes."""
    found = explorer.map(SENTENCE, 4, "bank")
    assert np.shape(found["layers"]) == (3, 16, 2)
    assert found["total"] == 15 and len(found["points"]) == 16
    own = found["points"][0]
    assert (own["word"], own["before"]) == ("bank", "we sat on the")
    assert sum(each["size"] for each in found["clusters"]) == 16
    labels = {point["cluster"] for point in found["points"]}
    assert labels <= set(range(len(found["clusters"])))


def test_map_of_a_rare_word(explorer):
    """Nowhere or once in the text."""
    for word, total in (("nowhere", 0), ("money", 1)):
        found = explorer.map((word,), 0, word)
        assert found["total"] == total and len(found["points"]) == total + 1
        assert np.isfinite(found["layers"]).all()


def test_senses(of_sample):
    """Lines of the sample tell the sense of the word they were written for."""
    found = of_sample.map(("the", "bank"), 1, "bank")
    names = {sense["name"]: sense["size"] for sense in found["senses"]}
    assert names == {"money": 11, "river": 11}
    for point in found["points"]:
        if point["sense"] >= 0:
            sentence = " ".join((point["before"], point["word"], point["after"]))
            river = "river" in sentence or "muddy" in sentence
            assert found["senses"][point["sense"]]["name"] == "river" or not river
    assert found["points"][0]["sense"] == -1


def test_no_senses(explorer):
    """Only the sample has senses."""
    assert not explorer.map(SENTENCE, 4, "bank")["senses"]


def test_forms(explorers):
    """Korean counts a stem with its particles as one word."""
    text = [[form, "타고"] for form in ("배를", "배가", "배우가", "배")]
    korean = Explorer(small_model(KOREAN), text)
    assert korean.text.usual_pattern("배를") == "배*"
    assert korean.map(("배를",), 0, "배*")["total"] == 3
    assert len(korean.neighbours(("배를",), 0, "배*")["layers"][2]) == 3


def test_work_of_a_click(model):
    """The biLM reads a sentence once; a word's map is computed once."""
    explorer = Explorer(model, TEXT)
    embed = mock.patch.object(
        Embedder, "embed_window", autospec=True, side_effect=Embedder.embed_window
    )
    plane = mock.patch.object(explored_text, "WordMap", wraps=explored_text.WordMap)
    with embed as passes, plane as maps:
        for tokens, position, expected in (
            (SENTENCE, 4, (1, 1)),
            # Another word of the sentence, the same word in another one, and again.
            (SENTENCE, 3, (1, 2)),
            (("the", "bank"), 1, (2, 2)),
            (SENTENCE, 4, (2, 2)),
        ):
            explorer.neighbours(tokens, position)
            explorer.substitutes(tokens, position)
            explorer.map(tokens, position, tokens[position])
            assert (passes.call_count, maps.call_count) == expected


def test_substitute_vectors(model):
    """The mean of word vectors, by the roots of their probabilities on both sides."""
    predictions = Predictions(model)
    (states,) = predictions.states([list(SENTENCE)])
    found = predictions.substitute_vectors(contexts_of(states))
    directions = predictions.of_directions(states, np.arange(1, len(SENTENCE) + 1))
    roots = np.exp(predictions.of_both(directions, first=3) / 2)
    kernel = numpy_of(model.head.softmax.kernel)[3:]
    expected = roots @ kernel / roots.sum(axis=1, keepdims=True) - kernel.mean(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_compare(explorer, model):
    first, second = SENTENCE, ("the", "bank")
    found = explorer.compare(first, second)
    (a, b) = keras_elmo.embed(model, [list(first), list(second)])
    for layer, cosines in enumerate(found["layers"]):
        for k, row in enumerate(cosines):
            for j, cosine in enumerate(row):
                x, y = a[layer, k], b[layer, j]
                expected = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
                assert cosine == pytest.approx(expected, abs=2e-3)


def test_score(explorer, model):
    """In bits."""
    tokens = ["the", "strange", "bank"]
    (found,) = explorer.score([tuple(tokens)])["sentences"]
    (expected,) = keras_elmo.score(model, [tokens])
    assert found["tokens"] == tokens and found["unknown"] == ["strange"]
    for name, key in (("both", "pseudo"), ("forward", "forward")):
        bits = found["bits"][name]
        total = -getattr(expected, key) / np.log(2)
        assert bits["sentence"] == pytest.approx(total, abs=0.01)
        by_token = -getattr(expected, f"token_{key}") / np.log(2)
        assert bits["tokens"] == pytest.approx(by_token, abs=0.01)


def test_encoder_alone(explorers):
    """It has neighbours and a map, but predicts nothing."""
    encoder = explorers["encoder"]
    assert not encoder.describe()["predicts"]
    assert encoder.map(SENTENCE, 4, "bank")["total"] == 15
    with pytest.raises(ServingError, match="predicts no words"):
        encoder.score([SENTENCE])


def test_damaged_softmax(model, tmp_path):
    """It is told; the model is not taken for an encoder alone."""
    path = tmp_path / "model"
    keras_elmo.export_saved_model(model, path, None, language_model=True)
    (softmax,) = path.rglob("softmax.hdf5")
    softmax.write_bytes(softmax.read_bytes()[:500])
    with pytest.raises(ValueError, match="softmax.hdf5: not a readable HDF5 file"):
        Explorer.load(str(path), TEXT)
    for each in softmax.parent.glob("vocabulary*"):
        each.unlink()
    assert not Explorer.load(str(path), TEXT).describe()["predicts"]


def test_onnx_file(tmp_path):
    (tmp_path / "my-elmo.onnx").touch()
    with pytest.raises(ValueError, match="is an ONNX file; `model` must be an ex"):
        Explorer.load(tmp_path / "my-elmo.onnx", TEXT)


def test_text_is_cut(model):
    """No more sentences are read than asked for."""
    explorer = Explorer(model, TEXT, max_sentences=2)
    assert explorer.describe()["indexed"] == 10


def test_tokenizer(model):
    """Sentences are split as asked."""
    explorer = Explorer(model, TEXT, max_sentences=2, tokenizer="published")
    assert explorer.tokens("the bank's") == ("the", "bank", "'s")
