"""Words of a text that count as one."""

from types import SimpleNamespace

import pytest

from keras_elmo.explorer.explored_text import ExploredText

WORDS = dict.fromkeys(
    ("배를", "배가", "배우가", "사과", "사과를", "사과의", "play", "plays", "player")
).keys()


@pytest.fixture
def text():
    """A text of these words, without their vectors."""
    text = ExploredText.__new__(ExploredText)
    text.indexes = [SimpleNamespace(words=WORDS)]
    return text


@pytest.mark.parametrize(
    ("pattern", "forms"),
    [
        ("배*", {"배를", "배가"}),
        ("배를", {"배를"}),
        ("Play*", {"play", "plays", "player"}),
        ("play", {"play"}),
        ("섬*", set()),
        ("*", {"*"}),
    ],
)
def test_forms(pattern, forms, text):
    assert text.forms(pattern) == forms


@pytest.mark.parametrize(
    ("token", "pattern"),
    # 과 is a particle, and the end of an apple.
    [("배를", "배*"), ("사과", "사과*"), ("사과를", "사과*"), ("섬을", "섬을")]
    + [("play", "play")],
)
def test_usual_pattern(token, pattern, text):
    assert text.usual_pattern(token) == pattern
