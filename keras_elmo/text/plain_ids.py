"""Tokens to ids in NumPy, wherever no graph of TensorFlow makes them.

No other module knows the special ids of the published models. All ids are the published
ones plus 1, because 0 is a masked position.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from keras_elmo.config import MAX_BYTES, MAX_CHARACTERS
from keras_elmo.token_vocabulary import TokenVocabulary

BEGIN_OF_SENTENCE = 257
END_OF_SENTENCE = 258
BEGIN_OF_WORD = 259
END_OF_WORD = 260
PADDING = 261


class PlainIds:
    """Encodes tokens as `CharacterIds` does.

    `begin` and `end` are the ids of the boundaries around a sentence.
    """

    def __init__(self, vocabulary: TokenVocabulary | None = None) -> None:
        self._vocabulary = vocabulary
        if vocabulary is None:
            self.num_ids = MAX_CHARACTERS
            self.begin, self.end = map(_boundary, (BEGIN_OF_SENTENCE, END_OF_SENTENCE))
        else:
            self.num_ids = vocabulary.ids_per_token
            self.begin, self.end = map(
                vocabulary.ids, (vocabulary.begin, vocabulary.end)
            )

    def __call__(
        self, sentences: Sequence[Sequence[bytes]], width: int = 0
    ) -> np.ndarray:
        """Returns `(sentences, tokens + 2, ids)` int32, of `width` tokens at least."""
        words, positions = distinct_words(sentences, width)
        return self.table(self.encode(words))[positions]

    def table(self, ids: np.ndarray) -> np.ndarray:
        """Returns the ids of the masked word, both boundaries, and some words."""
        first = np.array([[0] * self.num_ids, self.begin, self.end], "int32")
        return np.concatenate([first, ids])

    def encode(self, words: list[bytes]) -> np.ndarray:
        """Returns the ids of words, `(words, ids)`."""
        if self._vocabulary is None:
            return _bytes(words)
        ids = [self._vocabulary.ids(word.decode(errors="replace")) for word in words]
        return np.array(ids, "int32").reshape(-1, self.num_ids)


def distinct_words(
    sentences: Sequence[Sequence[bytes]], width: int = 0
) -> tuple[list[bytes], np.ndarray]:
    """Returns the words, in the order in which they occur, and their `place_words`."""
    words = dict.fromkeys(chain.from_iterable(sentences))
    if b"" in words:
        wrong = next(tokens for tokens in sentences if b"" in tokens)
        raise ValueError(
            "`sentences` must hold tokens that are not empty. "
            f"Received: a sentence {list(wrong)}"
        )
    numbers = {word: number for number, word in enumerate(words)}
    flat = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(sentences)), "int32"
    )
    return list(words), place_words([*map(len, sentences)], flat, width)


def place_words(
    lengths: Sequence[int], words: np.ndarray, width: int = 0
) -> np.ndarray:
    """Places words, numbers of distinct ones, in padded rows between the boundaries.

    Returns `(rows, tokens + 2)` int32: places in a table of the masked word, the
    boundaries, and the distinct words. `width` is the least number of tokens.
    """
    sizes = np.array(lengths, int)
    longest = sizes.max(initial=width)
    inside = np.arange(longest) < sizes[:, np.newaxis]
    places = np.zeros((len(sizes), longest + 2), "int32")
    places[:, 0] = 1
    places[:, 1:-1][inside] = words + 3
    places[np.arange(len(sizes)), sizes + 1] = 2
    return places


class StaticIds:
    """Looks words up as `StaticEmbedding.ids` does."""

    def __init__(self, words: Sequence[str]) -> None:
        # Two rows come first: of padding, and of unknown words.
        self._rows = {word.encode(): row for row, word in enumerate(words, 2)}

    def __call__(self, sentences: Sequence[Sequence[bytes]], width: int) -> np.ndarray:
        """Returns `(sentences, width)` int32."""
        ids = np.zeros((len(sentences), width), "int32")
        for row, words in zip(ids, sentences, strict=True):
            row[: len(words)] = [self._row(word) for word in words]
        return ids

    def _row(self, word: bytes) -> int:
        lower = word.decode(errors="replace").lower().encode()
        return self._rows.get(word, self._rows.get(lower, 1))


def _boundary(mark: int) -> list[int]:
    ids = [BEGIN_OF_WORD, mark, END_OF_WORD]
    return ids + [PADDING] * (MAX_CHARACTERS - len(ids))


def _bytes(words: list[bytes]) -> np.ndarray:
    """Returns the ids of the published models, `(words, 50)`."""
    # NumPy cuts longer words, and fills shorter ones with zeros.
    content = np.array(words, f"S{MAX_BYTES}").view("uint8").reshape(-1, MAX_BYTES)
    lengths = np.minimum(np.fromiter(map(len, words), int), MAX_BYTES)[:, np.newaxis]
    ids = np.full((len(words), MAX_CHARACTERS), PADDING, "int32")
    ids[:, 0] = BEGIN_OF_WORD
    inside = np.arange(MAX_BYTES) < lengths
    ids[:, 1:-1][inside] = content[inside] + np.int32(1)
    np.put_along_axis(ids, lengths + 1, END_OF_WORD, axis=1)
    return ids
