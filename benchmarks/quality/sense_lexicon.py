"""Which sense a word has, by the mentions of its lemma in a training text.

Of a lemma that was met in one sense only, that one, whatever the vectors say.

Reference: Melamud et al. 2016, "context2vec", and Peters et al. 2018, section 5.3, for
the nearest mean; Agirre and Edmonds 2007, "Word Sense Disambiguation", chapter 7, for
the vote of neighbours.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from senses import Lemma, Mention

# Best of 1 to 50 on a tenth of SemCor's training text, with layer 2 of elmo-en.
NUM_NEIGHBOURS = 10


class Entry:
    """The mentions of one lemma.

    Args:
        senses: of each mention.
        vectors: `(mentions, units)`.
    """

    def __init__(self, senses: list[str], vectors: np.ndarray) -> None:
        self._senses = senses
        self._counts = Counter(senses)
        self._vectors = _normalised(vectors)
        of_mention = np.array(senses)
        means = [
            self._vectors[of_mention == name].mean(axis=0) for name in self._counts
        ]
        self._means = _normalised(np.array(means))

    def most_frequent(self, vector: np.ndarray | None = None) -> str:
        return self._counts.most_common(1)[0][0]

    def nearest_mean(self, vector: np.ndarray) -> str:
        """Returns the sense whose mean vector has the greatest cosine."""
        return list(self._counts)[int(np.argmax(self._means @ vector))]

    def voted(self, vector: np.ndarray) -> str:
        """Returns the most frequent sense among the nearest mentions.

        Of several that are, the one that is the most frequent of all.
        """
        nearest = np.argsort(-(self._vectors @ vector), kind="stable")[:NUM_NEIGHBOURS]
        votes = Counter(self._senses[place] for place in nearest)
        return max(votes, key=lambda sense: (votes[sense], self._counts[sense]))


class SenseLexicon:
    """The entries of all lemmas.

    Args:
        mentions: of the training text.
        vectors: `(mentions, units)`, one for each.
    """

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
        """Returns the share of right senses in percent.

        A lemma that was not met counts as wrong.

        Args:
            method: of `Entry`.
            mentions: of the development text.
            vectors: `(mentions, units)`.
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
