from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.utils.tag_schemes import (
    SCHEMES,
    allowed_transitions,
    convert,
    scheme_of,
    scheme_of_names,
    spans,
    strange_tags,
)

# Spans of one sentence in the three schemes.
SAME = {
    "BIO": "O B-LOC I-LOC B-LOC O B-PER B-ORG I-ORG I-ORG",
    "IOB1": "O I-LOC I-LOC B-LOC O I-PER I-ORG I-ORG I-ORG",
    "BIOES": "O B-LOC E-LOC S-LOC O S-PER B-ORG I-ORG E-ORG",
}
BILOU = "O B-LOC L-LOC U-LOC O U-PER B-ORG I-ORG L-ORG"

names = st.sampled_from(
    ["O", *(f"{place}{type_}" for place in "BIESLU" for type_ in ("", "-A", "-B-C"))]
)
# Anything that a model may predict.
tag_lists = st.lists(names, max_size=8)


@pytest.mark.parametrize("text", [*SAME.values(), BILOU])
def test_schemes_mark_the_same_spans(text):
    tags = text.split()
    assert spans(tags) == [("LOC", 1, 3), ("LOC", 3, 4), ("PER", 5, 6), ("ORG", 6, 9)]
    for to, same in SAME.items():
        assert convert(tags, to) == same.split()


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", []),
        ("O O", []),
        # Invalid in its scheme, and counted.
        ("O I-X", [("X", 1, 2)]),
        ("B-X I-Y", [("X", 0, 1), ("Y", 1, 2)]),
        ("I-X I-X O I-X", [("X", 0, 2), ("X", 3, 4)]),
        ("E-X E-X", [("X", 0, 1), ("X", 1, 2)]),
        ("E-X I-X", [("X", 0, 1), ("X", 1, 2)]),
        ("B-X S-X I-X", [("X", 0, 1), ("X", 1, 2), ("X", 2, 3)]),
        ("B-X O E-X", [("X", 0, 1), ("X", 2, 3)]),
        # A type with a hyphen, and none.
        ("B-creative-work I-creative-work", [("creative-work", 0, 2)]),
        ("B I O I", [("", 0, 2), ("", 3, 4)]),
    ],
)
def test_spans(tags, expected):
    assert spans(tags.split()) == expected


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        ([text.split()], scheme)
        for scheme, text in [*SAME.items(), ("BIOES", BILOU), ("BIO", "O O")]
    ]
    + [
        ([["B", "I", "O", "B"]], "BIO"),
        ([["I", "I", "O", "I"]], "IOB1"),
        # Most spans decide.
        ([["B-X"], ["B-X"], ["I-X"]], "BIO"),
        ([["B-X"], ["I-X"], ["I-X"]], "IOB1"),
        # Of sentences that no span begins in, nothing is known.
        ([[], ["O"]], "BIO"),
        ([], None),
        ([[]], None),
        ([["NOUN", "X"], ["O"]], None),
        ([["B-"]], None),
        ([["B_PER", "O"]], None),
    ],
)
def test_scheme_of(sentences, expected):
    assert scheme_of(sentences) == expected
    # Names alone do not tell IOB1.
    names = sum(sentences, [])
    assert scheme_of_names(names) == ("BIO" if expected == "IOB1" else expected)


@given(tag_lists, st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_conversion_keeps_spans(tags, first, second):
    converted = convert(tags, first)
    assert len(converted) == len(tags)
    assert spans(converted) == spans(tags)
    assert convert(convert(converted, second), first) == converted


@given(st.lists(tag_lists), st.sampled_from(["BIO", "IOB1"]))
def test_scheme_of_what_was_converted(sentences, scheme):
    converted = [convert(tags, scheme) for tags in sentences]
    is_either = not any(spans(tags) for tags in sentences)
    expected = ("BIO" if any(sentences) else None) if is_either else scheme
    assert scheme_of(converted) == expected


@given(tag_lists, st.sampled_from(["BIO", "BIOES"]))
def test_what_is_converted_is_allowed(tags, to):
    converted = convert(tags, to)
    others = ["S-A", "O"] if to == "BIOES" else ["O"]
    tag_names = sorted({*converted, *others})
    between, start, end = allowed_transitions(tag_names)
    ids = [tag_names.index(tag) for tag in converted]
    assert all(between[a, b] for a, b in zip(ids[:-1], ids[1:], strict=True))
    assert all(start[ids[:1]]) and all(end[ids[-1:]])


def test_allowed_transitions():
    between, start, end = allowed_transitions(["O", "B-X", "I-X", "B-Y"])
    np.testing.assert_array_equal(
        between, [[1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1]]
    )
    np.testing.assert_array_equal(start, [1, 1, 0, 1])
    assert end.all()
    between, start, end = allowed_transitions(["O", "B-X", "I-X", "L-X", "U-X", "L-Y"])
    np.testing.assert_array_equal(
        between,
        [
            [1, 1, 0, 0, 1, 0],
            [0, 0, 1, 1, 0, 0],
            [0, 0, 1, 1, 0, 0],
            [1, 1, 0, 0, 1, 0],
            [1, 1, 0, 0, 1, 0],
            [1, 1, 0, 0, 1, 0],
        ],
    )
    np.testing.assert_array_equal(start, [1, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(end, [1, 0, 0, 1, 1, 1])
    # Parts of speech, and no tags.
    assert all(part.all() for part in allowed_transitions(["NOUN", "O"]))
    assert allowed_transitions([]).between.shape == (0, 0)


def test_errors():
    with pytest.raises(ValueError, match=r"`tags` must be O, or B, .*tags='NOUN'"):
        spans(["B-X", "NOUN"])
    with pytest.raises(ValueError, match=r"`to` must be 'BIO', .*to='IOB2'"):
        convert(["O"], "IOB2")
    with pytest.raises(TypeError, match=r"`tags` must be a list of tags\. .*'B-X'"):
        spans("B-X")
    with pytest.raises(TypeError, match=r"`sentences` must be lists of tags\. "):
        scheme_of(["B-X", "I-X"])
    with pytest.raises(TypeError, match="`tags` must be a list of tags"):
        convert([3], "BIO")
    with pytest.raises(ValueError, match="`tag_names` must be distinct"):
        allowed_transitions(["O", "O"])


def test_tags_that_mark_no_spans():
    """One beside spans makes all of them plain tags."""
    rows = [["O", "B-PER", "I-PER"], ["B-", "X-LOC", "O"]]
    assert scheme_of(rows) is None and scheme_of(rows[:1]) == "BIO"
    assert strange_tags(chain(*rows)) == ["B-", "X-LOC"]
    assert strange_tags(["o", "b-per"]) == ["o", "b-per"]
    # Parts of speech, and spans alone.
    for tags in (["NOUN", "X"], ["O", "-LRB-", "S"], rows[0]):
        assert strange_tags(tags) == []
