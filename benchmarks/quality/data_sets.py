"""The public data sets, each by its name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from readers import read_columns, read_conllu, read_labelled, read_tsv, tokenized
from task import Label, Sentence, Task

Pairs = list[tuple[Sentence, Label]]


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
