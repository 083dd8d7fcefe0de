"""Senses of words in SemCor, by the mentions of their lemma in a training text.

Of a lemma that was met in one sense only, that one, whatever the vectors say.

Reference: Melamud et al. 2016, "context2vec", and Peters et al. 2018, section 5.3, for
the nearest mean; Agirre and Edmonds 2007, "Word Sense Disambiguation", chapter 7, for
the vote of neighbours.
"""

import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

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


# WordNet's files by the first letters of the tags, and its numbers of parts of speech.
_FILES = {"N": "noun", "V": "verb", "J": "adj", "R": "adv"}
_NUMBERS = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}


def first_senses(wordnet: Path) -> dict[Lemma, str]:
    """Reads the first sense of each lemma from the folder of WordNet's database.

    WordNet orders them by their counts in SemCor, the held-out documents included, and
    by its makers' judgement.
    """
    found = {}
    for letter, name in _FILES.items():
        index = (wordnet / f"index.{name}").read_text(encoding="utf-8")
        with open(wordnet / f"data.{name}", "rb") as file:
            for line in index.splitlines():
                # Those of the licence begin with spaces.
                if not line.startswith(" "):
                    lemma, _, num_senses, *rest = line.split()
                    synset = int(rest[-int(num_senses)])
                    found[lemma, letter] = _sense_key(file, synset, lemma)
    return found


def _sense_key(file: BinaryIO, synset: int, lemma: str) -> str:
    """The key of a lemma in a synset, without the lemma itself."""
    lexicographer, kind, words, pointers = _synset(file, synset)
    number = next(n for word, n in words if word.partition("(")[0] == lemma)
    head = ":"
    if kind == "s":
        first, of_first = _synset(file, pointers["&"])[2][0]
        head = f"{first}:{of_first:02}"
    return f"{_NUMBERS[kind]}:{lexicographer}:{number:02}:{head}"


def _synset(
    file: BinaryIO, offset: int
) -> tuple[str, str, list[tuple[str, int]], dict[str, int]]:
    """A synset's file of lexicographers, kind, words with numbers, and pointers.

    Of several pointers of a kind the last one.
    """
    file.seek(offset)
    _, lexicographer, kind, count, *fields = file.readline().decode().split()
    end = 2 * int(count, 16)
    # Adjectives may say where they stand: "afraid(p)"; keys keep that of a head.
    words = [word.lower() for word in fields[:end:2]]
    numbers = [int(number, 16) for number in fields[1:end:2]]
    num_pointers = int(fields[end])
    pointers = fields[end + 1 : end + 1 + 4 * num_pointers]
    targets = dict(zip(pointers[::4], map(int, pointers[1::4]), strict=True))
    return lexicographer, kind, list(zip(words, numbers, strict=True)), targets


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
            self._vectors[of_mention == each].mean(axis=0) for each in self._counts
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

    def unmet(self, mentions: Sequence[Mention], first: Mapping[Lemma, str]) -> float:
        """Returns the points that the first sense of unmet lemmas adds to any method.

        It is what the paper takes for a lemma that the training text does not have.
        """
        right = sum(
            mention.lemma not in self.entries
            and first.get(mention.lemma) == mention.sense
            for mention in mentions
        )
        return 100 * right / len(mentions)

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
