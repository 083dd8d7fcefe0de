"""Which words of a text count as one."""

import pytest

from keras_elmo.explorer.forms import forms_of, usual_pattern

WORDS = dict.fromkeys(
    ("배를", "배가", "배우가", "사과", "사과를", "사과의", "play", "plays", "player")
).keys()


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
def test_forms_of(pattern, forms):
    assert forms_of(pattern, WORDS) == forms


@pytest.mark.parametrize(
    ("token", "pattern"),
    # 과 is a particle, and the end of an apple.
    [("배를", "배*"), ("사과", "사과*"), ("사과를", "사과*"), ("섬을", "섬을")],
)
def test_usual_pattern(token, pattern):
    assert usual_pattern(token, WORDS) == pattern


def test_usual_pattern_of_other_languages():
    assert usual_pattern("play", WORDS) == "play"
