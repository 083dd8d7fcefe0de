"""The public data sets as tasks: sentences, with a label each or one for each token."""

import lzma
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

Sentence = list[str]

# The training sentences are drawn once, the same ones for every encoder and seed.
_DRAW_SEED = 0


@dataclass(frozen=True)
class Task:
    """Tokenized sentences, the training ones first, with arrays of class numbers.

    A label has no axis, or one element for each token.
    """

    sentences: list[Sentence]
    labels: list[np.ndarray]
    classes: list[str]
    num_train: int

    @classmethod
    def of(cls, train: Sequence[Any], dev: Sequence[Any]) -> "Task":
        """Numbers the labels of `(tokens, label)` pairs."""
        sentences, labels = zip(*train, *dev, strict=True)
        classes = sorted({str(name) for each in labels for name in np.atleast_1d(each)})
        numbered = [
            np.array(np.searchsorted(classes, np.array(label)), np.int32)
            for label in labels
        ]
        return cls(list(sentences), numbered, classes, num_train=len(train))

    @property
    def is_tagging(self) -> bool:
        return self.labels[0].ndim == 1

    @property
    def has_spans(self) -> bool:
        """Whether the tags mark spans: B-person, I-person, O."""
        return self.is_tagging and "O" in self.classes

    @property
    def dev(self) -> np.ndarray:
        """Indices of the development sentences."""
        return np.arange(self.num_train, len(self.sentences))

    def part(self, size: int | None) -> "Task":
        """Returns the task with `size` training sentences, with all if `None`."""
        kept = [*self.drawn(size), *self.dev]
        sentences, labels = (
            [each[k] for k in kept] for each in (self.sentences, self.labels)
        )
        return Task(sentences, labels, self.classes, len(kept) - len(self.dev))

    def drawn(self, size: int | None) -> np.ndarray:
        """Returns indices of `size` training sentences, of all if `None`.

        A smaller draw is a part of a larger one.
        """
        indices = list(range(self.num_train))
        Random(_DRAW_SEED).shuffle(indices)
        return np.array(sorted(indices[:size]))


def read_conllu(path: Path) -> list[tuple[Sentence, list[str]]]:
    """Reads universal part-of-speech tags of a treebank."""
    pairs = []
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for block in file.read().strip().split("\n\n"):
            rows = [line.split("\t") for line in block.splitlines() if line[0] != "#"]
            # Other numbers are contractions (1-2) or words not in the text (1.1).
            rows = [row for row in rows if row[0].isdigit()]
            pairs.append(([row[1] for row in rows], [row[3] for row in rows]))
    return pairs


def read_columns(path: Path) -> list[tuple[Sentence, list[str]]]:
    """Reads a token and its tag a line."""
    pairs = []
    lines = path.read_text(encoding="utf-8").split("\n")
    # Some lines between two sentences hold a tab.
    for blank, block in groupby(lines, lambda line: not line.strip()):
        if not blank:
            tokens, tags = zip(*(line.split("\t") for line in block), strict=True)
            pairs.append((list(tokens), [tag.strip() for tag in tags]))
    return pairs


def read_labelled(path: Path) -> list[tuple[Sentence, str]]:
    """Reads a label and the tokens of a sentence from each line."""
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        label, _, sentence = line.partition(" ")
        pairs.append((sentence.split(), label))
    return pairs


def read_tsv(path: Path) -> list[tuple[str, str]]:
    """Reads a number, a raw text and its label a line."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        next(file)
        rows = [line.rstrip("\r\n").split("\t") for line in file]
    return [(document, label) for _, document, label in rows]


def tokenized(texts: Sequence[str], tokenizer: str) -> list[Sentence]:
    """Tokenizes raw text as the model's training text was."""
    import keras_elmo

    rows = keras_elmo.Tokenizer(tokenizer).ragged(texts).to_list()
    return [[token.decode() for token in tokens] for tokens in rows]


@dataclass(frozen=True)
class Training:
    """How a head is trained: passes over the text, dropout, sentences of a batch."""

    epochs: int
    dropout: float = 0.3
    batch_size: int = 32


@dataclass(frozen=True)
class DataSet:
    """Where a task is read, and how a head is trained on it.

    Args:
        language: of its text, `"en"` or `"ko"`.
        training: of a head.
        files: in the folder of the data; `{}` stands for `train` and `dev`.
        read_pairs: reads one of them.
        raw: whether the text is not tokenized.
    """

    language: str
    training: Training
    files: str
    read_pairs: Callable[[Path], list[Any]]
    raw: bool = False

    def read(self, data: Path, tokenizer: str) -> Task:
        """Reads the task; `tokenizer` is that of the model's training text."""
        splits = []
        for split in ("train", "dev"):
            pairs = self.read_pairs(data / self.files.format(split))
            if self.raw:
                texts, labels = zip(*pairs, strict=True)
                pairs = list(zip(tokenized(texts, tokenizer), labels, strict=True))
            splits.append(pairs)
        return Task.of(*splits)


def of_a_language(argument: str) -> tuple[str, str]:
    """Reads `LANGUAGE=PATH` of a command line."""
    language, equals, path = argument.partition("=")
    if language not in ("en", "ko") or not equals:
        raise ArgumentTypeError(f"en=PATH or ko=PATH expected, not {argument}")
    return language, path


# Chosen on a fifth of SST-2's training sentences, where it was better than 5 epochs and
# a dropout of 0.3, for static vectors and for ELMo.
_OF_SST = Training(15, dropout=0.5)
_OF_NSMC = Training(3, batch_size=64)
DATA_SETS = {
    "ewt": DataSet("en", Training(10), "ud_en_ewt/{}.conllu.xz", read_conllu),
    "gsd": DataSet("ko", Training(20), "ud_ko_gsd/{}.conllu.xz", read_conllu),
    "wnut17": DataSet("en", Training(20), "wnut17/{}.conll", read_columns),
    "sst2": DataSet("en", _OF_SST, "sst/sst2.{}.txt", read_labelled),
    "sst5": DataSet("en", _OF_SST, "sst/sst5.{}.txt", read_labelled),
    "nsmc": DataSet("ko", _OF_NSMC, "nsmc/{}.tsv.xz", read_tsv, raw=True),
}
