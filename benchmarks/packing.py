"""Sentences packed into rows of one length, and taken out of them again."""

from collections.abc import Iterator, Sequence

import numpy as np

from keras_elmo.text.vocabulary import START, UNKNOWN

Batch = dict[str, np.ndarray]
# Character ids and token ids of one row, without padding.
Sentence = tuple[np.ndarray, np.ndarray]

MAX_TOKENS = 66
# As many sentences as `keras_elmo.Corpus` sorts by length at a time.
_WINDOW = 8_192


def separated(batch: Batch) -> Batch:
    """Returns a batch whose rows hold one sentence each."""
    char_ids, token_ids = _flat(batch)
    places = np.flatnonzero(token_ids == START)[1:]
    return _rows(
        list(zip(np.split(char_ids, places), np.split(token_ids, places), strict=True))
    )


def _flat(batch: Batch) -> Sentence:
    """Returns what the positions hold that are no padding, one after the other."""
    known = batch["token_ids"] >= 0
    return batch["char_ids"][known], batch["token_ids"][known]


def count_words(batch: Batch) -> int:
    """Returns the number of tokens without the sentences' boundaries."""
    return int((batch["token_ids"] >= UNKNOWN).sum())


def packed_batches(batches: Sequence[Batch], batch_tokens: int) -> Iterator[Batch]:
    """Yields the sentences of `batches` again, in rows of one length."""
    sentences = [
        (char_ids[token_ids >= 0], token_ids[token_ids >= 0])
        for batch in batches
        for char_ids, token_ids in zip(
            batch["char_ids"], batch["token_ids"], strict=True
        )
    ]
    random = np.random.default_rng(0)
    lengths = [len(token_ids) for _, token_ids in sentences]
    rows: list[list[int]] = []
    order = random.permutation(len(sentences))
    for start in range(0, len(order), _WINDOW):
        window = packed_rows(lengths, order[start : start + _WINDOW])
        random.shuffle(window)
        rows += window
    num_rows = batch_tokens // MAX_TOKENS
    for start in range(0, len(rows), num_rows):
        yield _rows(
            [
                _joined([sentences[place] for place in row])
                for row in rows[start : start + num_rows]
            ],
            MAX_TOKENS,
        )


def _joined(sentences: Sequence[Sentence]) -> Sentence:
    char_ids, token_ids = map(np.concatenate, zip(*sentences, strict=True))
    return char_ids, token_ids


def packed_rows(lengths: Sequence[int], places: np.ndarray) -> list[list[int]]:
    """Puts each sentence into the fullest row that has room, the longest first."""
    rows: list[list[int]] = []
    # By the room that is left, the rows that have it.
    rooms: list[list[list[int]]] = [[] for _ in range(MAX_TOKENS + 1)]
    for place in sorted(places, key=lambda place: -lengths[place]):
        length = lengths[place]
        room = next((r for r in range(length, MAX_TOKENS + 1) if rooms[r]), None)
        if room is None:
            room, row = MAX_TOKENS, list[int]()
            rows.append(row)
        else:
            row = rooms[room].pop()
        row.append(place)
        rooms[room - length].append(row)
    return rows


def _rows(rows: Sequence[Sentence], length: int | None = None) -> Batch:
    """Returns a batch, padded to `length` or to the longest row."""
    length = length or max(len(token_ids) for _, token_ids in rows)
    num_characters = rows[0][0].shape[-1]
    char_ids = np.zeros((len(rows), length, num_characters), np.int32)
    token_ids = np.full((len(rows), length), -1, np.int32)
    for number, (spelt, ids) in enumerate(rows):
        char_ids[number, : len(ids)] = spelt
        token_ids[number, : len(ids)] = ids
    return {"char_ids": char_ids, "token_ids": token_ids}


def padding(batches: Sequence[Batch]) -> float:
    """Returns the share of positions that hold nothing."""
    positions = sum(batch["token_ids"].size for batch in batches)
    empty = sum(int((batch["token_ids"] < 0).sum()) for batch in batches)
    return empty / positions
