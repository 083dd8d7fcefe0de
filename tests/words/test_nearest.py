import unicodedata
from pathlib import Path

import pytest

from keras_elmo import Index, nearest
from tests.helpers.words_by_hand import CORPUS, QUERY, assert_same

pytestmark = pytest.mark.graph


def test_equals_index(encoder):
    """As an index that is built and asked once."""
    for layer, words in ((0, "any"), (-1, "same")):
        found = nearest(encoder, "bank", QUERY, CORPUS, 100, layer, words=words)
        index = Index.build(encoder, CORPUS, layer)
        assert_same(found, index.query("bank", QUERY, 100, words))


def test_among(encoder):
    """Tokens that `among` chooses are compared, the same word of them if asked."""

    def words(among, words="any"):
        found = nearest(encoder, "the", QUERY, CORPUS, among=among, words=words)
        return sorted(occurrence.word for occurrence in found)

    assert words(lambda word: word == "bank") == ["bank"] * 4
    assert words(lambda word: False) == []
    assert words(None, "same") == ["The", "the", "the", "the"]
    assert words(str.istitle, "same") == ["The"]


def test_text_files(encoder, tmp_path):
    """A text file and a text."""
    for name, part in (("a.txt", CORPUS[:3]), ("b.txt", CORPUS[3:])):
        lines = "\n".join(map(" ".join, part))
        (tmp_path / name).write_text(lines, encoding="utf-8")
    found = nearest(encoder, "bank", " ".join(QUERY), tmp_path / "*.txt")
    assert_same(found, nearest(encoder, "bank", QUERY, CORPUS))
    # Text and sentence are split as asked.
    text = tmp_path / "text.txt"
    text.write_text("the bank's", encoding="utf-8")
    (found,) = nearest(encoder, "bank", "a bank's", text, 1, tokenizer="published")
    assert found.sentence == ["the", "bank", "'s"]


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
