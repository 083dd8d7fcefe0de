"""Questions about the senses of words, and the model's answers."""

import functools
import random
from collections import Counter, defaultdict
from typing import Any

import numpy as np

from keras_elmo.explorer.explored_text import ExploredText
from keras_elmo.words.token_vectors import Place, normalize

# Sentences of a sense, so that the model knows it without the question.
_FEWEST = 4
_SEED = 0
_KEPT_WORDS = 64


class Quiz:
    """Asks for the sense of a word, once for each sentence with a known sense.

    The model's answer is the sense whose other sentences are nearest to the question:
    by the cosine between their mean context vector and the question's.
    """

    def __init__(self, text: ExploredText) -> None:
        self._text = text
        self._senses: dict[str, dict[Place, str]] = defaultdict(dict)
        for word, place, sense in text.sensed():
            self._senses[word][place] = sense
        self._questions = [
            (word, place)
            for word, senses in self._senses.items()
            if (counts := Counter(senses.values())) and len(counts) > 1
            if min(counts.values()) >= _FEWEST
            for place in senses
        ]
        random.Random(_SEED).shuffle(self._questions)
        self._vectors = functools.lru_cache(_KEPT_WORDS)(self._read_vectors)

    def __len__(self) -> int:
        """Returns the number of questions."""
        return len(self._questions)

    def question(self, number: int) -> dict[str, Any]:
        """Returns a question, its answer and the model's; numbers wrap around."""
        word, place = self._questions[number % len(self)]
        senses = self._senses[word]
        places, vectors = self._vectors(word)
        own = places.index(place)
        known = [senses[occurrence] for occurrence in places]
        # No mean includes the question itself.
        known[own] = ""
        cosines = {
            name: _cosine(vectors[[sense == name for sense in known]], vectors[own])
            for name in sorted(set(senses.values()))
        }
        guess = max(cosines, key=cosines.__getitem__)
        others = vectors @ vectors[own]
        others[own] = -np.inf
        position, sentence = place
        return {
            "tokens": sentence,
            "position": position,
            "senses": [
                {"name": name, "cosine": round(cosine, 3)}
                for name, cosine in cosines.items()
            ],
            "answer": senses[place],
            "guess": guess,
            "nearest": " ".join(places[int(others.argmax())][1]),
        }

    def _read_vectors(self, word: str) -> tuple[list[Place], np.ndarray]:
        """Returns the places where a word has a known sense, and a vector for each."""
        places, vectors = self._text.contexts_at(self._senses[word])
        vectors = normalize(vectors)
        return places, normalize(vectors - vectors.mean(axis=0))


def _cosine(vectors: np.ndarray, vector: np.ndarray) -> float:
    """Returns the cosine between a mean and a vector of length 1."""
    return float(normalize(vectors.mean(axis=0)) @ vector)
