"""Few shapes of batches: lengths, rows and words."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.batch_shapes import (
    BatchShapes,
    choose_lengths,
    few_shapes,
    form_batch,
    pad_batch,
    rounded_up,
)
from keras_elmo.text.plain_ids import PlainIds, distinct_words

ROWS = [[b"the", b"bank", b"of", b"the"], [b"the"]]


@given(st.integers(1, 10_000))
def test_rounded_up(size):
    rounded = rounded_up(size)
    # Less than 8 above the size, or a quarter of it.
    assert size <= rounded < size + max(8, size / 4 + 1)
    assert rounded_up(rounded) == rounded
    assert size > 8 or rounded in (1, 2, 4, 8)


def test_sizes_are_few():
    assert len(set(map(rounded_up, range(1, 129)))) == 15


def words_and_positions():
    words, positions = distinct_words(ROWS)
    return PlainIds().table(PlainIds().encode(words)), positions


def padding_of(rows, lengths):
    """The share of padding, if each row has the first length that holds it."""
    rows = np.sort(rows)
    padded = np.array(lengths)[np.searchsorted(lengths, rows)]
    return 1 - rows.sum() / padded.sum()


@given(st.lists(st.integers(3, 30), min_size=1, max_size=40))
def test_fewest_lengths(rows):
    """At most 7 % of a text is padding, and with one length less it is more."""
    lengths = choose_lengths(rows, longest=30)
    assert list(lengths) == sorted({*lengths, 30})
    assert padding_of(rows, lengths) <= 0.07
    fewer = len(set(lengths) & set(rows)) - 1
    for others in combinations(sorted({*rows} - {max(rows)}), max(0, fewer - 1)):
        if fewer:
            assert padding_of(rows, sorted({*others, max(rows)})) > 0.07


def test_lengths_of_long_rows():
    """Lengths of thousands of positions are compared by a few hundreds."""
    rows = np.random.default_rng(0).integers(3, 20_000, 4000)
    lengths = choose_lengths(rows, longest=20_000)
    assert len(lengths) < 20
    assert padding_of(rows, lengths) < 0.08


def test_no_rows():
    assert choose_lengths([], 66) == (66,)
    assert few_shapes([], 1280, 66) == BatchShapes((66,), 0)


def test_few_shapes():
    """There is room for more words than a batch of the sample has."""
    rows = [[b"%d" % (k + i) for i in range(8)] for k in range(0, 800, 8)]
    shapes = few_shapes(rows, batch_tokens=1000, longest=12)
    assert shapes.lengths == (10, 12)
    # 800 words in a batch, the boundaries and the masked one: 803, and a tenth more.
    assert shapes.num_words == 896


def test_few_shapes_of_a_measured_text():
    """A measured text has one length for ten batches, and at least one."""
    rows = [[b"w"] * (k % 20 + 1) for k in range(400)]
    every = few_shapes(rows, 1000, longest=22).lengths
    for batch_tokens, number in ((1000, 1), (500, 1), (200, 2), (100, 5), (10, 99)):
        few = few_shapes(rows, batch_tokens, longest=22, measured=True).lengths
        assert len(few) == min(number, len(every)) and few[-1] == 22


def test_masked_batches():
    """Masked batches have the shapes of batches to come, and hold nothing."""
    shapes = BatchShapes((4, 6), 8)
    words, positions = words_and_positions()
    token_ids = np.zeros(positions.shape, "int32")
    batch = form_batch(words, positions, token_ids, 20, shapes)
    masked = shapes.masked_batches(20, 50)
    assert [batch["token_ids"].shape for batch in masked] == [(5, 4), (3, 6)]
    for name, value in batch.items():
        assert (masked[1][name].shape, masked[1][name].dtype) == (
            value.shape,
            value.dtype,
        )
    assert not any(batch["words"].any() for batch in masked)
    assert all((batch["token_ids"] == -1).all() for batch in masked)
    assert shapes._replace(num_words=0).masked_batches(20, 50) == []


@pytest.mark.parametrize(
    ("shapes", "rows", "tokens", "num_words"),
    [
        (BatchShapes(), 2, 6, 6),
        (BatchShapes((5, 9), 8), 3, 9, 8),
        # More words than there is room for, and than there are in a batch.
        (BatchShapes((6,), 5), 5, 6, 31),
        (BatchShapes((5,), 64), 5, 6, 64),
    ],
    ids=["as they are", "padded", "many words", "longer"],
)
def test_form_batch(shapes, rows, tokens, num_words):
    """Added words, positions and rows are masked."""
    words, positions = words_and_positions()
    token_ids = np.where(positions > 0, positions, -1)
    plain = form_batch(words, positions, token_ids, 30, None)
    batch = form_batch(words, positions, token_ids, 30, shapes)
    assert batch["words"].shape == (num_words, 50)
    assert batch["positions"].shape == batch["token_ids"].shape == (rows, tokens)
    char_ids = batch["words"][batch["positions"]]
    np.testing.assert_array_equal(char_ids[:2, :6], plain["char_ids"])
    np.testing.assert_array_equal(batch["token_ids"][:2, :6], token_ids)
    assert not char_ids[2:].any() and not char_ids[:, 6:].any()
    assert not batch["words"][len(words) :].any()
    np.testing.assert_array_equal(batch["token_ids"] >= 0, char_ids[..., 0] > 0)


def test_pad_batch():
    """Padding is masked, and nothing is cut."""
    words, positions = words_and_positions()
    batch = {"char_ids": words[positions], "token_ids": positions}
    wide = pad_batch(batch, rows=3, tokens=9)
    assert wide["token_ids"].shape == (3, 9)
    assert wide["char_ids"].shape == (3, 9, 50)
    assert (wide["token_ids"][:, 6:] == -1).all() and (wide["token_ids"][2] == -1).all()
    np.testing.assert_array_equal(wide["token_ids"][:2, :6], positions)
    assert pad_batch(batch, rows=1, tokens=0)["token_ids"].shape == (2, 6)
