"""Misspelt text."""

import pytest

pytestmark = pytest.mark.graph

SENTENCES = [["The", "banks", "of", "a", "river"], ["a", "b", "1,250", "Rivers"]] * 20


@pytest.fixture
def noise(quality):
    return quality("noise")


def changed(rows):
    return [
        (old, new)
        for before, after in zip(SENTENCES, rows, strict=True)
        for old, new in zip(before, after, strict=True)
        if old != new
    ]


@pytest.mark.parametrize("kind", ["typos", "OCR"])
def test_errors_are_small(noise, kind):
    pairs = changed(noise.Noise(kind, 0.5).applied(SENTENCES))
    assert 20 < len(pairs) < 60
    for old, new in pairs:
        # Short words and numbers stay, and a word keeps its length but for a letter.
        assert sum(map(str.isalpha, old)) > 2 and abs(len(old) - len(new)) < 2
        assert kind == "OCR" or old[0] == new[0]


def test_errors_at_a_low_rate_stay_at_a_higher_one(noise):
    few, many = (
        changed(noise.Noise("typos", r).applied(SENTENCES)) for r in (0.1, 0.4)
    )
    assert set(few) < set(many)
    again = changed(noise.Noise("typos", 0.4).applied(SENTENCES))
    assert again == many


def test_lower_case(noise):
    rows = noise.NOISES["lower case"].applied(SENTENCES)
    assert rows[0] == ["the", "banks", "of", "a", "river"]
