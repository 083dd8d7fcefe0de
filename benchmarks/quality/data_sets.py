"""The public data sets as tasks: sentences, with a label each or one for each token."""

import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
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


def read_columns(path: Path) -> list[tuple[Sentence, Label]]:
    pairs: list[tuple[Sentence, Label]] = []
    lines = path.read_text(encoding="utf-8").split("\n")
    # Some lines between two sentences hold a tab.
    for blank, block in groupby(lines, lambda line: not line.strip()):
        if not blank:
            tokens, tags = zip(*(line.split("\t") for line in block), strict=True)
            pairs.append((list(tokens), [tag.strip() for tag in tags]))
    return pairs


def read_labelled(path: Path) -> list[tuple[Sentence, str]]:
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        label, _, sentence = line.partition(" ")
        pairs.append((sentence.split(), label))
    return pairs


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


@dataclass(frozen=True)
class Training:
    """How a head is trained, whatever the words.

    Args:
        epochs: passes over the training sentences.
        dropout: of the word vectors.
        batch_size: in sentences.
    """

    epochs: int
    dropout: float = 0.3
    batch_size: int = 32


@dataclass(frozen=True)
class DataSet:
    """Where a task is read, and how a head is trained on it.

    Args:
        language: of its text, `"en"` or `"ko"`.
        training: of a head.
        read: from the folder of all data sets and a tokenizer's kind to the task.
    """

    language: str
    training: Training
    read: Callable[[Path, str], Task]


def _conllu(folder: str) -> Callable[[Path, str], Task]:
    """Universal part-of-speech tags of a treebank, which is tokenised."""

    def read(data: Path, tokenizer: str) -> Task:
        train, dev = (
            read_conllu(data / folder / f"{split}.conllu.xz")
            for split in ("train", "dev")
        )
        return Task.of(train, dev)

    return read


def _wnut17(data: Path, tokenizer: str) -> Task:
    """Entities that have just appeared, in comments and messages, tokenised."""
    train, dev = (
        read_columns(data / "wnut17" / f"{split}.conll") for split in ("train", "dev")
    )
    return Task.of(train, dev)


def _sst(name: str) -> Callable[[Path, str], Task]:
    """Sentiment of sentences from English film reviews, tokenised."""

    def read(data: Path, tokenizer: str) -> Task:
        train, dev = (
            read_labelled(data / "sst" / f"{name}.{split}.txt")
            for split in ("train", "dev")
        )
        return Task.of(train, dev)

    return read


def _nsmc(data: Path, tokenizer: str) -> Task:
    """Sentiment of Korean film reviews, raw text."""
    train, dev = (
        tokenized(read_tsv(data / "nsmc" / f"{split}.tsv.xz"), tokenizer)
        for split in ("train", "dev")
    )
    return Task.of(train, dev)


# Chosen on a fifth of SST-2's training sentences, where it was better than 5 epochs and
# a dropout of 0.3, for static vectors and for ELMo.
_OF_SST = Training(15, dropout=0.5)
DATA_SETS = {
    "ewt": DataSet("en", Training(10), _conllu("ud_en_ewt")),
    "gsd": DataSet("ko", Training(20), _conllu("ud_ko_gsd")),
    "wnut17": DataSet("en", Training(20), _wnut17),
    "sst2": DataSet("en", _OF_SST, _sst("sst2")),
    "sst5": DataSet("en", _OF_SST, _sst("sst5")),
    "nsmc": DataSet("ko", Training(3, batch_size=64), _nsmc),
}
