import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.sentence_ends import marks_of, split_sentence


def tokens(text):
    return [token.encode() for token in text.split()]


def rows(text, limit):
    return [b" ".join(row).decode() for row in split_sentence(tokens(text), limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("a b c d", ["a b c d"]),
        # The last end of a sentence that leaves the row at least half full.
        ("a b . c d e", ["a b .", "c d e"]),
        ("a . b . c d", ["a . b .", "c d"]),
        ("a . b c d e", ["a . b c", "d e"]),
        ("a b ? ! c d", ["a b ? !", "c d"]),
        ("a b c ? ! d", ["a b c ?", "! d"]),
        ("가 나 。 다 라 마", ["가 나 。", "다 라 마"]),
        ("가 나다！ 라 마 바", ["가 나다！ 라 마", "바"]),
        ('a b end." c d e', ['a b end."', "c d e"]),
        ("a b c d e f g h i", ["a b c d", "e f g h", "i"]),
    ],
)
def test_where_a_line_is_cut(text, expected):
    assert rows(text, 4) == expected


def test_closing_marks():
    """Closing marks stay with their sentence."""
    assert rows('a b . " c d e f', 6) == ['a b . "', "c d e f"]


words = st.sampled_from([b"a", b"b", b".", b"?", b'"', "。".encode(), b"\xff"])


@given(st.lists(words), st.integers(1, 9))
def test_split_sentence(line, limit):
    """Cutting keeps every token within the limit."""
    cut = split_sentence(line, limit)
    assert [token for row in cut for token in row] == line
    assert all(len(row) <= limit for row in cut)
    assert all(2 * len(row) >= limit for row in cut[:-1])


@given(st.lists(words), st.integers(1, 9))
def test_numbers_of_words(line, limit):
    """What stands for tokens is cut where they are."""
    distinct = sorted(set(line))
    numbers = [distinct.index(token) for token in line]
    cut = split_sentence(numbers, limit, lambda number: marks_of(distinct[number]))
    assert [[distinct[number] for number in row] for row in cut] == (
        split_sentence(line, limit)
    )
