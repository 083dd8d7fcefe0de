"""What `CharacterIds` does, in NumPy: for a machine that only predicts.

No other module knows the special ids of the published models. All ids are the published
ones plus 1, because 0 is a masked position.
"""

from collections.abc import Sequence

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

    Args:
        vocabulary: `config.token_vocabulary` of the model.

    Attributes:
        begin: the ids of the begin of a sentence.
        end: the ids of its end.
    """

    def __init__(self, vocabulary: TokenVocabulary | None = None) -> None:
        self._vocabulary = vocabulary
        if vocabulary is None:
            self.num_ids = MAX_CHARACTERS
            self.begin = _word([BEGIN_OF_SENTENCE])
            self.end = _word([END_OF_SENTENCE])
            return
        self.num_ids = vocabulary.ids_per_token
        self._words = {word: k for k, word in enumerate(vocabulary.words, 1)}
        self._characters = {c: k for k, c in enumerate(vocabulary.characters, 1)}
        self.begin = self._look_up(vocabulary.begin, vocabulary)
        self.end = self._look_up(vocabulary.end, vocabulary)

    def __call__(
        self, sentences: Sequence[Sequence[bytes]], width: int = 0
    ) -> np.ndarray:
        """Returns int32 ids of shape `(sentences, tokens + 2, ids)`.

        Args:
            sentences: tokens.
            width: least number of tokens of the result.

        Raises:
            ValueError: a token is empty.
        """
        longest = max(map(len, sentences), default=0)
        longest = max(longest, width)
        ids = np.zeros((len(sentences), longest + 2, self.num_ids), "int32")
        known: dict[bytes, list[int]] = {}
        for row, tokens in zip(ids, sentences, strict=True):
            for token in tokens:
                if token not in known:
                    known[token] = self._encode(token)
            ids_of = [known[token] for token in tokens]
            row[: len(tokens) + 2] = [self.begin, *ids_of, self.end]
        if b"" in known:
            wrong = next(tokens for tokens in sentences if b"" in tokens)
            raise ValueError(
                "`sentences` must hold tokens that are not empty. "
                f"Received: a sentence {list(wrong)}"
            )
        return ids

    def _encode(self, token: bytes) -> list[int]:
        if self._vocabulary is None:
            return _word([byte + 1 for byte in token[:MAX_BYTES]])
        return self._look_up(token.decode(errors="replace"), self._vocabulary)

    def _look_up(self, token: str, vocabulary: TokenVocabulary) -> list[int]:
        is_boundary = token in (vocabulary.begin, vocabulary.end)
        most = vocabulary.max_characters
        cut = token if most is None or is_boundary else token[: most - 2]
        ids = []
        if self._words:
            ids.append(self._words.get(cut, self._words[vocabulary.unknown]))
        if most is not None and self._characters:
            row = self._characters
            # A boundary is one entry; no other token has entries of several letters.
            entries = [token] if is_boundary else list(cut)
            unknown = row[vocabulary.unknown]
            ids.append(row[vocabulary.begin_of_word])
            ids += [row.get(entry, unknown) for entry in entries]
            ids.append(row[vocabulary.end_of_word])
            ids += [row[vocabulary.padding]] * (self.num_ids - len(ids))
        return ids


def _word(inner: list[int]) -> list[int]:
    ids = [BEGIN_OF_WORD, *inner, END_OF_WORD]
    return ids + [PADDING] * (MAX_CHARACTERS - len(ids))
