"""Sentences with what is to be said of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

Sentence = list[str]
# Of a sentence, or of each of its tokens.
Label = str | list[str]

# The training sentences are drawn once: every encoder and every seed of a head sees
# the same ones.
_DRAW_SEED = 0


@dataclass(frozen=True)
class Task:
    """Sentences with a label each, or with a label for each token.

    Args:
        sentences: tokens, the training sentences first.
        labels: of each sentence an array of class numbers: without an axis, or with
            one element a token.
        classes: the name of each class.
        num_train: how many of the sentences are for training; the others are the
            development set.
    """

    sentences: list[Sentence]
    labels: list[np.ndarray]
    classes: list[str]
    num_train: int

    @classmethod
    def of(
        cls,
        train: Sequence[tuple[Sentence, Label]],
        dev: Sequence[tuple[Sentence, Label]],
    ) -> "Task":
        sentences, labels = zip(*train, *dev, strict=True)
        classes = sorted({name for label in labels for name in np.atleast_1d(label)})
        number = {name: number for number, name in enumerate(classes)}
        return cls(
            list(sentences),
            [_numbers(label, number) for label in labels],
            list(map(str, classes)),
            num_train=len(train),
        )

    @property
    def is_tagging(self) -> bool:
        return self.labels[0].ndim == 1

    @property
    def has_spans(self) -> bool:
        """Whether the tags mark spans: B-person, I-person, O."""
        return self.is_tagging and "O" in self.classes

    @property
    def train(self) -> np.ndarray:
        """Places of the training sentences."""
        return np.arange(self.num_train)

    @property
    def dev(self) -> np.ndarray:
        """Places of the development sentences."""
        return np.arange(self.num_train, len(self.sentences))

    def drawn(self, size: int | None) -> np.ndarray:
        """Returns places of so many training sentences; of all, if `None`.

        Those of a smaller draw are among those of a larger one.
        """
        places = list(range(self.num_train))
        Random(_DRAW_SEED).shuffle(places)
        return np.array(sorted(places[:size]))


def _numbers(label: Label, number: dict[str, int]) -> np.ndarray:
    if isinstance(label, str):
        return np.array(number[label], np.int32)
    return np.array([number[tag] for tag in label], np.int32)
