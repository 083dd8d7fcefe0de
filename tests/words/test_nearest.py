import unicodedata
from pathlib import Path

import numpy as np
import pytest

from keras_elmo import nearest
from keras_elmo.export.saved_model import export_saved_model
from tests.helpers import numpy_reference
from tests.helpers.small import CONFIG, published, random_encoder

pytestmark = pytest.mark.graph

QUERY = ["I", "sat", "on", "the", "bank", "of", "the", "river"]
CORPUS = [
    ["The", "bank", "lends", "money", "."],
    [],
    ["A", "tree", "on", "the", "bank", "of", "a", "river"],
    ["배", "가", "고프다"],
    ["the", "bank", "the", "bank"],
]


@pytest.fixture(scope="module")
def encoder():
    encoder = random_encoder()
    encoder.tokenizer = "whitespace"
    return encoder


def by_hand(encoder, layer, sentence, position):
    options, weights = published(encoder)
    layers = numpy_reference.encode(sentence, options, weights)[0]
    vector = layers[layer][position + 1].astype("float64")
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("layer", [0, 1, -1])
def test_against_reference(encoder, layer):
    """Equals a search by hand."""
    query = by_hand(encoder, layer, QUERY, 4)
    expected = {
        (tuple(sentence), position): by_hand(encoder, layer, sentence, position) @ query
        for sentence in CORPUS
        for position in range(len(sentence))
    }
    found = nearest(encoder, "bank", QUERY, CORPUS, num=7, layer=layer)
    cosines = sorted(expected.values(), reverse=True)[:7]
    np.testing.assert_allclose([each.cosine for each in found], cosines, atol=1e-5)
    for each in found:
        cosine = expected[tuple(each.sentence), each.position]
        assert each.cosine == pytest.approx(cosine, abs=1e-5)
        assert each.word == each.sentence[each.position]


def test_duplicates(encoder):
    """Occurrences at the same place of equal sentences are returned once."""
    num_tokens = sum(map(len, CORPUS))
    found = nearest(encoder, "bank", QUERY, CORPUS * 3, num=1000)
    assert len(found) == num_tokens
    # Once from 1,000 and once from as few as are wanted.
    best = nearest(encoder, "bank", QUERY, CORPUS * 3, num=3)
    assert best == found[:3]


def test_among(encoder):
    """Only tokens that `among` chooses are compared."""
    found = nearest(encoder, "bank", QUERY, CORPUS, among=lambda word: word == "bank")
    assert [each.word for each in found] == ["bank"] * 4
    assert not nearest(encoder, "bank", QUERY, CORPUS, among=lambda word: False)


def test_query_is_left_out(encoder):
    """The occurrence that was asked for is left out."""
    found = nearest(encoder, "the", QUERY, [QUERY], num=100)
    places = sorted(each.position for each in found)
    # The first "the" was asked for; the second is another place.
    assert places == [0, 1, 2, 4, 5, 6, 7]


def test_text_files(encoder, tmp_path):
    """A text file and a text."""
    for name, part in (("a.txt", CORPUS[:3]), ("b.txt", CORPUS[3:])):
        lines = "\n".join(map(" ".join, part))
        (tmp_path / name).write_text(lines, encoding="utf-8")
    found = nearest(encoder, "bank", " ".join(QUERY), tmp_path / "*.txt")
    expected = nearest(encoder, "bank", QUERY, CORPUS)
    assert [each[1:] for each in found] == [each[1:] for each in expected]
    np.testing.assert_allclose(
        [each.cosine for each in found], [each.cosine for each in expected], atol=1e-5
    )


def test_saved_model(encoder, tmp_path):
    """A saved model by path."""
    export_saved_model(encoder, tmp_path / "model", None)
    found = nearest(tmp_path / "model", "bank", QUERY, CORPUS, num=2)
    assert found == nearest(encoder, "bank", QUERY, CORPUS, num=2)


def test_string_sentences(encoder):
    """Strings as sentences are refused: their letters would be taken for words."""
    lines = (" ".join(sentence) for sentence in CORPUS)
    with pytest.raises(TypeError, match="`corpus` must be a .* or hold lists of"):
        nearest(encoder, "bank", QUERY, lines)
    with pytest.raises(
        ValueError, match="or hold lists of tokens: no file matches the"
    ):
        nearest(encoder, "bank", QUERY, ["the river"])
    with pytest.raises(TypeError, match="or hold lists of tokens. Received: .*a.txt"):
        nearest(encoder, "bank", QUERY, iter([Path("a.txt")]))


def test_decomposed_word(encoder, monkeypatch):
    """A word of decomposed characters is composed, as the tokenizer does with text."""
    monkeypatch.setattr(encoder, "tokenizer", "unicode")
    apart = unicodedata.normalize("NFD", "배")
    assert apart != "배"
    found = nearest(encoder, apart, f"the {apart}", CORPUS, num=2)
    assert found == nearest(encoder, "배", "the 배", CORPUS, num=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"word": "Bank"}, r"whose tokens are \['I', 'sat'.*word='Bank'"),
        ({"sentence": ""}, "`sentence` must hold a token, and is empty"),
        ({"num": 0}, "`num` must be at least 1. Received: num=0"),
        ({"layer": 3}, "one of the model's 3, -3 to 2. Received: layer=3"),
        ({"corpus": [["the", ""]]}, r"`corpus` must hold tokens .* \['the', ''\]"),
    ],
)
def test_invalid_arguments(encoder, arguments, message):
    """Arguments that do not fit."""
    assert CONFIG.num_layers == 2
    arguments = {"word": "bank", "sentence": QUERY, "corpus": CORPUS, **arguments}
    with pytest.raises(ValueError, match=message):
        nearest(encoder, **arguments)
