"""The public data sets, each by its name."""

import lzma
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from task import Label, Sentence, Task, tokenized

Pairs = list[tuple[Sentence, Label]]


@dataclass(frozen=True)
class DataSet:
    """Where a task is read, and how a head is trained on it.

    Args:
        language: of its text, `"en"` or `"ko"`.
        epochs: passes of a head over its training sentences.
        batch_size: of a head.
        read: from the folder of all data sets and a tokenizer's kind to the task.
    """

    language: str
    epochs: int
    batch_size: int
    read: Callable[[Path, str], Task]


def _conllu(folder: str) -> Callable[[Path, str], Task]:
    """Universal part-of-speech tags of a treebank, which is tokenised."""

    def read(data: Path, tokenizer: str) -> Task:
        train, dev = (
            _read_conllu(data / folder / f"{split}.conllu.xz")
            for split in ("train", "dev")
        )
        return Task.of(train, dev)

    return read


def _read_conllu(path: Path) -> Pairs:
    pairs: Pairs = []
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for block in file.read().strip().split("\n\n"):
            rows = [line.split("\t") for line in block.splitlines() if line[0] != "#"]
            # Others are the unsplit form of several words (1-2) or not in the text
            # (1.1).
            rows = [row for row in rows if row[0].isdigit()]
            pairs.append(([row[1] for row in rows], [row[3] for row in rows]))
    return pairs


def _wnut17(data: Path, tokenizer: str) -> Task:
    """Entities that have just appeared, in comments and messages, tokenised."""
    train, dev = (
        _read_columns(data / "wnut17" / f"{split}.conll") for split in ("train", "dev")
    )
    return Task.of(train, dev)


def _read_columns(path: Path) -> Pairs:
    pairs: Pairs = []
    lines = path.read_text(encoding="utf-8").split("\n")
    # Some lines between two sentences hold a tab.
    for blank, block in groupby(lines, lambda line: not line.strip()):
        if not blank:
            tokens, tags = zip(*(line.split("\t") for line in block), strict=True)
            pairs.append((list(tokens), [tag.strip() for tag in tags]))
    return pairs


def _sst(name: str) -> Callable[[Path, str], Task]:
    """Sentiment of sentences from English film reviews, tokenised."""

    def read(data: Path, tokenizer: str) -> Task:
        train, dev = (
            _read_labelled(data / "sst" / f"{name}.{split}.txt")
            for split in ("train", "dev")
        )
        return Task.of(train, dev)

    return read


def _read_labelled(path: Path) -> Pairs:
    pairs: Pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        label, _, sentence = line.partition(" ")
        pairs.append((sentence.split(), label))
    return pairs


def _nsmc(data: Path, tokenizer: str) -> Task:
    """Sentiment of Korean film reviews, raw text."""
    train, dev = (
        tokenized(_read_tsv(data / "nsmc" / f"{split}.tsv.xz"), tokenizer)
        for split in ("train", "dev")
    )
    return Task.of(train, dev)


def _read_tsv(path: Path) -> list[tuple[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        next(file)
        rows = [line.rstrip("\r\n").split("\t") for line in file]
    return [(document, label) for _, document, label in rows]


DATA_SETS = {
    "ewt": DataSet("en", 10, 32, _conllu("ud_en_ewt")),
    "gsd": DataSet("ko", 20, 32, _conllu("ud_ko_gsd")),
    "wnut17": DataSet("en", 20, 32, _wnut17),
    "sst2": DataSet("en", 5, 32, _sst("sst2")),
    "sst5": DataSet("en", 5, 32, _sst("sst5")),
    "nsmc": DataSet("ko", 3, 64, _nsmc),
}
