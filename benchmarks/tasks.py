"""Public data sets as lists of tokens with labels."""

import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

Sentence = list[str]
# Of a sentence, or of each of its tokens.
Label = str | list[str]

# The training sentences are drawn once: every encoder and every seed of a head sees
# the same ones.
_DRAW_SEED = 0
_NSMC_TRAIN_SIZE = 10_000


@dataclass(frozen=True)
class Task:
    """Sentences with a label each, or with a label for each token.

    Args:
        name: of the data set.
        sentences: tokens, the training sentences first.
        labels: of each sentence an array of class numbers: without an axis, or with
            one element a token.
        num_train: how many of the sentences are for training; the others are the
            development set.
        num_classes: how many labels there are.
    """

    name: str
    sentences: list[Sentence]
    labels: list[np.ndarray]
    num_train: int
    num_classes: int

    @property
    def is_tagging(self) -> bool:
        return self.labels[0].ndim == 1

    @property
    def train(self) -> np.ndarray:
        """Places of the training sentences."""
        return np.arange(self.num_train)

    @property
    def dev(self) -> np.ndarray:
        """Places of the development sentences."""
        return np.arange(self.num_train, len(self.sentences))


def read_task(
    name: str, folder: Path, tokenizer: str, train_size: int | None = None
) -> Task:
    """Reads a data set.

    Args:
        name: one of `TASKS`.
        folder: of all data sets.
        tokenizer: what cuts raw text, a kind of `keras_elmo.Tokenizer`; data that is
            tokenised already is used as it is.
        train_size: draw that many training sentences; all if `None`, except of NSMC,
            where it is 10,000.

    Raises:
        ValueError: there is no such task.
    """
    if name not in TASKS:
        raise ValueError(
            f"`name` must be one of {', '.join(TASKS)}. Received: name={name!r}"
        )
    return TASKS[name](folder, tokenizer, train_size)


def _read_ewt(folder: Path, tokenizer: str, train_size: int | None) -> Task:
    """Universal part-of-speech tags of the English Web Treebank."""
    folder = folder / "ud_en_ewt"
    return _task(
        "ewt",
        _drawn(read_conllu(folder / "train.conllu.xz"), train_size),
        read_conllu(folder / "dev.conllu.xz"),
    )


def read_conllu(path: Path) -> list[tuple[Sentence, list[str]]]:
    pairs = []
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for block in file.read().strip().split("\n\n"):
            rows = [line.split("\t") for line in block.splitlines() if line[0] != "#"]
            # Others are the unsplit form of several words (1-2) or not in the text
            # (1.1).
            rows = [row for row in rows if row[0].isdigit()]
            pairs.append(([row[1] for row in rows], [row[3] for row in rows]))
    return pairs


def _read_sst2(folder: Path, tokenizer: str, train_size: int | None) -> Task:
    """Sentiment of sentences from English film reviews."""
    folder = folder / "sst"
    return _task(
        "sst2",
        _drawn(read_labelled(folder / "sst2.train.txt"), train_size),
        read_labelled(folder / "sst2.dev.txt"),
    )


def read_labelled(path: Path) -> list[tuple[Sentence, str]]:
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        label, _, sentence = line.partition(" ")
        pairs.append((sentence.split(), label))
    return pairs


def _read_nsmc(folder: Path, tokenizer: str, train_size: int | None) -> Task:
    """Sentiment of Korean film reviews, which come as raw text."""
    folder = folder / "nsmc"
    train = _drawn(read_tsv(folder / "train.tsv.xz"), train_size or _NSMC_TRAIN_SIZE)
    dev = read_tsv(folder / "dev.tsv.xz")
    return _task("nsmc", tokenized(train, tokenizer), tokenized(dev, tokenizer))


def read_tsv(path: Path) -> list[tuple[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        next(file)
        rows = [line.rstrip("\r\n").split("\t") for line in file]
    return [(document, label) for _, document, label in rows]


def tokenized(
    pairs: Sequence[tuple[str, str]], tokenizer: str
) -> list[tuple[Sentence, str]]:
    """Cuts raw text as the model's training text was."""
    import keras_elmo

    texts = [text for text, _ in pairs]
    rows = keras_elmo.Tokenizer(tokenizer).ragged(texts).to_list()
    return [
        ([token.decode() for token in tokens], label)
        for tokens, (_, label) in zip(rows, pairs, strict=True)
    ]


def _drawn(pairs: Sequence[Any], size: int | None) -> list[Any]:
    if size is None or size >= len(pairs):
        return list(pairs)
    return Random(_DRAW_SEED).sample(pairs, size)


def _task(
    name: str,
    train: Sequence[tuple[Sentence, Label]],
    dev: Sequence[tuple[Sentence, Label]],
) -> Task:
    sentences, labels = zip(*train, *dev, strict=True)
    classes = sorted({name for label in labels for name in np.atleast_1d(label)})
    number = {name: number for number, name in enumerate(classes)}
    return Task(
        name,
        list(sentences),
        [
            np.array(
                number[label]
                if isinstance(label, str)
                else [number[tag] for tag in label],
                dtype=np.int32,
            )
            for label in labels
        ],
        num_train=len(train),
        num_classes=len(classes),
    )


TASKS: dict[str, Callable[[Path, str, int | None], Task]] = {
    "ewt": _read_ewt,
    "sst2": _read_sst2,
    "nsmc": _read_nsmc,
}
