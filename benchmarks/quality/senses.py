"""Senses of words in SemCor, by the mentions of their lemma in a training text.

Of a lemma that was met in one sense only, that one, whatever the vectors say.

Reference: Melamud et al. 2016, "context2vec", and Peters et al. 2018, section 5.3, for
the nearest mean; Agirre and Edmonds 2007, "Word Sense Disambiguation", chapter 7, for
the vote of neighbours.
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
    """A word whose sense is known: WordNet's key.

    `sentence` is the index of its sentence, `tokens` the positions where it begins and
    behind its end.
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
            words = [
                [word for word in token.split("_") if word] or [token]
                for token in row["tokens"]
            ]
            starts = np.cumsum([0, *map(len, words)]).tolist()
            for start, lemma, tag, (sense, *_), _, num_tokens in row["ann"]:
                tokens = starts[start], starts[start + num_tokens]
                lemma = lemma, tag[0]
                mentions.append(Mention(len(sentences), tokens, lemma, sense))
            sentences.append([word for token in words for word in token])
    return sentences, mentions


def mention_vectors(
    layers: Iterable[np.ndarray], mentions: Sequence[Mention]
) -> np.ndarray:
    """Returns the mean vector of each mention's tokens, `(layers, mentions, units)`.

    `layers` are `(layers, tokens, units)` of each sentence, `mentions` in their order.
    """
    of_sentence = defaultdict(list)
    for mention in mentions:
        of_sentence[mention.sentence].append(mention.tokens)
    vectors = [
        sentence[:, start:end].mean(axis=1).astype("float16")
        for index, sentence in enumerate(layers)
        for start, end in of_sentence[index]
    ]
    return np.stack(vectors, axis=1)


# Best of 1 to 50 on a tenth of SemCor's training text, with layer 2 of elmo-en.
NUM_NEIGHBOURS = 10


class Entry:
    """The mentions of one lemma: their senses, and their vectors."""

    def __init__(self, senses: list[str], vectors: np.ndarray) -> None:
        self._senses = senses
        self._counts = Counter(senses)
        self._vectors = _normalised(vectors)
        of_mention = np.array(senses)
        means = [
            self._vectors[of_mention == sense].mean(axis=0) for sense in self._counts
        ]
        self._means = _normalised(np.array(means))

    def most_frequent(self, vector: np.ndarray | None = None) -> str:
        return self._counts.most_common(1)[0][0]

    def nearest_mean(self, vector: np.ndarray) -> str:
        """Returns the sense whose mean vector has the greatest cosine."""
        return list(self._counts)[int(np.argmax(self._means @ vector))]

    def voted(self, vector: np.ndarray) -> str:
        """Returns the most frequent sense of the nearest mentions; of all, in a tie."""
        nearest = np.argsort(-(self._vectors @ vector), kind="stable")[:NUM_NEIGHBOURS]
        votes = Counter(self._senses[place] for place in nearest)
        return max(votes, key=lambda sense: (votes[sense], self._counts[sense]))


class SenseLexicon:
    """The entries of all lemmas, of the mentions of the training text."""

    def __init__(self, mentions: Sequence[Mention], vectors: np.ndarray) -> None:
        places: dict[Lemma, list[int]] = defaultdict(list)
        for place, mention in enumerate(mentions):
            places[mention.lemma].append(place)
        self.entries = {
            lemma: Entry([mentions[place].sense for place in own], vectors[own])
            for lemma, own in places.items()
        }

    def accuracy(
        self, method: str, mentions: Sequence[Mention], vectors: np.ndarray
    ) -> float:
        """Returns how many percent of the senses a method of `Entry` finds.

        A lemma that the training text does not have counts as wrong.
        """
        right = 0
        for mention, vector in zip(mentions, vectors.astype("float32"), strict=True):
            entry = self.entries.get(mention.lemma)
            if entry is not None:
                right += getattr(entry, method)(vector) == mention.sense
        return 100 * right / len(mentions)


def _normalised(vectors: np.ndarray) -> np.ndarray:
    vectors = vectors.astype("float32")
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
