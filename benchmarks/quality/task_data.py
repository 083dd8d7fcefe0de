"""The public data sets that a shipped model is measured on."""

import lzma
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common

# Words and their tags, or texts (or their words) and their labels.
Rows = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class DataSet:
    """Describes where a data set is, and how a model of it is trained.

    Args:
        title: as tables show it.
        language: `"en"` or `"ko"`.
        files: below the folder with the data; `{}` stands for `train` and `dev`.
        column: which column of a tagged file has the tags.
        read: reads a labelled file; `None` if the files are tagged.
        model: arguments of the model that differ from its defaults.
        fit: the same for its `fit`.
        decay: learning rate that falls to 0 over all epochs by a cosine.
        seeds: of a head that is measured.
        is_large: whether its layers, 12 GB in a temporary file, fill the memory.
    """

    title: str
    language: str
    files: str
    column: str | int | None = None
    read: Callable[[Path], Iterable[tuple[Any, str]]] | None = None
    model: dict[str, Any] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)
    decay: float | None = None
    seeds: int = 3
    is_large: bool = False

    def paths(self) -> tuple[Path, Path]:
        """Returns the paths of the training and the development data."""
        train, dev = (self.files.format(split) for split in ("train", "dev"))
        return common.data_folder() / train, common.data_folder() / dev

    def rows(self, path: Path) -> Rows:
        """Reads one file."""
        if self.read is None:
            from keras_elmo.text.tagged_text import read_tagged

            sentences = read_tagged(str(path), self.column)
            return [row.words for row in sentences], [row.tags for row in sentences]
        pairs = self.read(path)
        texts, labels = zip(*pairs, strict=True)
        return list(texts), list(labels)


def read_labelled(path: Path) -> Iterable[tuple[list[str], str]]:
    """Yields the words and the label of each line, which begins with the label."""
    for line in path.read_text(encoding="utf-8").splitlines():
        label, *words = line.split()
        yield words, label


def read_tsv(path: Path) -> Iterable[tuple[str, str]]:
    """Yields the text and the label of each line: number, text, label.

    Lines without a text are left out.
    """
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        next(file)
        for line in file:
            _, text, label = line.rstrip("\r\n").split("\t")
            if text:
                yield text, label


DATA_SETS = {
    "ewt": DataSet("UD EWT, parts of speech", "en", "ud_en_ewt/{}.conllu.xz", "upos"),
    "gsd": DataSet(
        "UD GSD, parts of speech (Korean)", "ko", "ud_ko_gsd/{}.conllu.xz", "upos"
    ),
    "wnut17": DataSet("WNUT-17, entities (span F1)", "en", "wnut17/{}.conll"),
    "sst2": DataSet("SST-2, sentiment", "en", "sst/sst2.{}.txt", read=read_labelled),
    "sst5": DataSet("SST-5, sentiment", "en", "sst/sst5.{}.txt", read=read_labelled),
    # A larger layer with less dropout learns more from this many texts, in half an
    # hour, and each time about the same.
    "nsmc": DataSet(
        "NSMC, sentiment (Korean)",
        "ko",
        "nsmc/{}.tsv.xz",
        read=read_tsv,
        model={"dropout": 0.2, "lstm_units": 128},
        fit={"epochs": 5, "batch_size": 64},
        decay=2e-3,
        seeds=2,
        is_large=True,
    ),
}
