import unicodedata
from pathlib import Path

import numpy as np
import pytest

from keras_elmo import nearest
from tests.words.by_hand import CORPUS, QUERY, unit_vector

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("layer", [0, 1, -1])
def test_against_reference(encoder, layer):
    """Equals a search by hand."""
    query = unit_vector(encoder, layer, QUERY, 4)
    expected = {
        (tuple(tokens), position): unit_vector(encoder, layer, tokens, position) @ query
        for tokens in CORPUS
        for position in range(len(tokens))
    }
    occurrences = nearest(encoder, "bank", QUERY, CORPUS, num=7, layer=layer)
    cosines = sorted(expected.values(), reverse=True)[:7]
    np.testing.assert_allclose(
        [found.cosine for found in occurrences], cosines, atol=1e-5
    )
    for found in occurrences:
        cosine = expected[tuple(found.sentence), found.position]
        assert found.cosine == pytest.approx(cosine, abs=1e-5)
        assert found.word == found.sentence[found.position]


def test_duplicates(encoder):
    """Occurrences at the same place of equal sentences are returned once."""
    found = nearest(encoder, "bank", QUERY, CORPUS * 3, num=1000)
    assert len(found) == sum(map(len, CORPUS))
    # Once from 1,000 and once from as few as are wanted.
    assert nearest(encoder, "bank", QUERY, CORPUS * 3, num=3) == found[:3]


def test_among(encoder):
    """Tokens that `among` chooses are compared, the same word of them if asked."""

    def words(among, words="any"):
        found = nearest(encoder, "the", QUERY, CORPUS, among=among, words=words)
        return sorted(occurrence.word for occurrence in found)

    assert words(lambda word: word == "bank") == ["bank"] * 4
    assert words(lambda word: False) == []
    assert words(None, "same") == ["The", "the", "the", "the"]
    assert words(str.istitle, "same") == ["The"]


def test_query_is_left_out(encoder):
    """The first "the" was asked for; the second is another place."""
    found = nearest(encoder, "the", QUERY, [QUERY], num=100)
    places = sorted(occurrence.position for occurrence in found)
    assert places == [0, 1, 2, 4, 5, 6, 7]


def test_text_files(encoder, tmp_path):
    """A text file and a text."""
    for name, part in (("a.txt", CORPUS[:3]), ("b.txt", CORPUS[3:])):
        lines = "\n".join(map(" ".join, part))
        (tmp_path / name).write_text(lines, encoding="utf-8")
    found = nearest(encoder, "bank", " ".join(QUERY), tmp_path / "*.txt")
    expected = nearest(encoder, "bank", QUERY, CORPUS)
    for one, other in zip(found, expected, strict=True):
        assert one[1:] == other[1:]
        assert one.cosine == pytest.approx(other.cosine, abs=1e-5)


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
        # The letters of a string would be taken for words.
        ({"corpus": iter(["the bank"])}, "`corpus` must be a .* or hold lists of"),
        ({"corpus": iter([Path("a.txt")])}, "lists of tokens, .* Received: .*a.txt"),
        (
            {"corpus": ["the river"]},
            r"such as \[\['the', 'bank'\]\]: no file matches 'the river'",
        ),
    ],
)
def test_invalid_arguments(encoder, arguments, message):
    """Those of the word are found before the text is read."""

    def text():
        raise AssertionError
        yield

    arguments = {"word": "bank", "sentence": QUERY, "corpus": text(), **arguments}
    with pytest.raises((TypeError, ValueError), match=message):
        nearest(encoder, **arguments)
