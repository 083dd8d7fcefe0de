"""Packed rows hold the same sentences as the batches they are compared with."""

import numpy as np


def batches(lengths, width):
    """One batch of sentences whose ids tell them apart."""
    char_ids = np.zeros((len(lengths), width, 4), np.int32)
    token_ids = np.full((len(lengths), width), -1, np.int32)
    for row, length in enumerate(lengths):
        token_ids[row, :length] = 100 * row + np.arange(length)
        char_ids[row, :length] = 1 + token_ids[row, :length, np.newaxis]
    return [{"char_ids": char_ids, "token_ids": token_ids}]


def test_packed_batches_hold_every_sentence_once(benchmark):
    batching = benchmark("batching")
    lengths = np.random.default_rng(0).integers(3, 67, size=50)
    (original,) = batches(lengths, 66)
    packed = list(batching.packed_batches([original], batch_tokens=4 * 66))
    shapes = {batch["token_ids"].shape for batch in packed}
    assert shapes <= {(rows, 66) for rows in (1, 2, 3, 4)}
    ids = np.concatenate([batch["token_ids"].ravel() for batch in packed])
    before = original["token_ids"].ravel()
    assert sorted(ids[ids >= 0]) == sorted(before[before >= 0])
    for batch in packed:
        known = batch["token_ids"] >= 0
        expected = np.where(known, 1 + batch["token_ids"], 0)[..., np.newaxis]
        np.testing.assert_array_equal(
            batch["char_ids"], np.broadcast_to(expected, batch["char_ids"].shape)
        )
        # A sentence is whole: within one, ids go up by one.
        steps = np.diff(batch["token_ids"], axis=1)
        inside = known[:, 1:] & (batch["token_ids"][:, 1:] % 100 > 0)
        assert (steps[inside] == 1).all()


def test_separated_rows_hold_one_sentence_each(benchmark):
    token_ids = np.array([[0, 5, 1, 0, 6, 7, 1, -1], [0, 8, 9, 4, 1, -1, -1, -1]])
    char_ids = np.where(token_ids >= 0, token_ids + 1, 0)[..., np.newaxis]
    batch = benchmark("batching").separated(
        {"char_ids": char_ids, "token_ids": token_ids}
    )
    expected = [[0, 5, 1, -1, -1], [0, 6, 7, 1, -1], [0, 8, 9, 4, 1]]
    assert batch["token_ids"].tolist() == expected
    assert (batch["char_ids"][..., 0] == batch["token_ids"] + 1).all()


def test_words_are_counted_without_boundaries(benchmark):
    batch = {"token_ids": np.array([[0, 2, 7, 1, -1], [0, 1, -1, -1, -1]])}
    assert benchmark("batching").count_words(batch) == 2


def test_a_sentence_goes_into_the_fullest_row_with_room(benchmark):
    packed_rows = benchmark("batching").packed_rows
    lengths = [60, 50, 16, 6, 10]
    assert packed_rows(lengths, np.arange(5)) == [[0, 3], [1, 2], [4]]


def test_padding_is_the_share_of_empty_positions(benchmark):
    padding = benchmark("batching").padding
    assert padding(batches([3, 4], 5)) == 0.3
