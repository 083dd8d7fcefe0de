"""Words of SemCor whose sense is known, and their vectors."""

import json
import lzma
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
