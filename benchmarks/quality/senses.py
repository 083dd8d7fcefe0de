"""Word senses by the nearest of a sense's mean vectors, on SemCor.

A word's sense is that whose mean vector over the training text is closest by cosine;
of a lemma that was not met there, or met in one sense only, the most frequent one.

Reference: Melamud et al. 2016, "context2vec"; Peters et al. 2018, section 5.3.
"""

import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# With the part of speech: "n", "v", ..
Lemma = tuple[str, str]


@dataclass(frozen=True)
class Mention:
    """A word whose sense is known.

    Args:
        sentence: its place among the sentences.
        tokens: its first token's position, and the one behind its last.
        lemma: what it is a form of.
        sense: WordNet's key of the right one.
    """

    sentence: int
    tokens: tuple[int, int]
    lemma: Lemma
    sense: str


def read_senses(path: Path) -> tuple[list[list[str]], list[Mention]]:
    """Reads sentences and the mentions in them.

    A token of several words (made_it) becomes several, as text has them.
    """
    sentences, mentions = [], []
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            words = [_words(token) for token in row["tokens"]]
            starts = np.cumsum([0, *map(len, words)]).tolist()
            for start, lemma, tag, (sense, *_), _, num_tokens in row["ann"]:
                tokens = starts[start], starts[start + num_tokens]
                lemma = lemma, tag[0]
                mentions.append(Mention(len(sentences), tokens, lemma, sense))
            sentences.append([word for token in words for word in token])
    return sentences, mentions


def _words(token: str) -> list[str]:
    return [word for word in token.split("_") if word] or [token]


class NearestSense:
    """The mean vector of each sense of each lemma.

    Args:
        mentions: of the training text.
        vectors: `(mentions, units)`, one for each.
    """

    def __init__(self, mentions: Sequence[Mention], vectors: np.ndarray) -> None:
        self._counts: dict[Lemma, Counter[str]] = defaultdict(Counter)
        sums: dict[tuple[Lemma, str], np.ndarray] = {}
        for mention, vector in zip(mentions, vectors.astype("float32"), strict=True):
            key = mention.lemma, mention.sense
            self._counts[mention.lemma][mention.sense] += 1
            sums[key] = sums[key] + vector if key in sums else vector
        self._means = {
            key: total / np.linalg.norm(total) for key, total in sums.items()
        }

    def most_frequent(self, mention: Mention) -> str | None:
        """Returns the lemma's most frequent sense, if it was met."""
        counts = self._counts.get(mention.lemma)
        return counts.most_common(1)[0][0] if counts else None

    def nearest(self, mention: Mention, vector: np.ndarray) -> str | None:
        """Returns the sense whose mean vector is closest."""
        senses = self._counts.get(mention.lemma)
        if not senses:
            return None
        vector = vector.astype("float32")
        return max(senses, key=lambda sense: self._means[mention.lemma, sense] @ vector)


def accuracy(
    model: NearestSense, mentions: Sequence[Mention], vectors: np.ndarray | None
) -> float:
    """Returns the share of right senses in percent; the most frequent ones', if `None`.

    A lemma that was not met counts as wrong either way.
    """
    if vectors is None:
        found = map(model.most_frequent, mentions)
    else:
        found = map(model.nearest, mentions, vectors)
    right = [
        sense == mention.sense for sense, mention in zip(found, mentions, strict=True)
    ]
    return 100 * float(np.mean(right))


def mention_vectors(
    layers: Iterable[np.ndarray], mentions: Sequence[Mention]
) -> np.ndarray:
    """Returns the mean vector of each mention's tokens, `(layers, mentions, units)`.

    Args:
        layers: of each sentence, `(layers, tokens, units)`.
        mentions: of all sentences, in order.
    """
    vectors = []
    waiting = iter(mentions)
    mention = next(waiting, None)
    for place, sentence in enumerate(layers):
        while mention is not None and mention.sentence == place:
            start, end = mention.tokens
            vectors.append(sentence[:, start:end].mean(axis=1).astype("float16"))
            mention = next(waiting, None)
    return np.stack(vectors, axis=1)
