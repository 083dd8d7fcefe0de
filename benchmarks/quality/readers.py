"""The files of public data sets, as tokens or texts with labels."""

import lzma
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from task import Label, Sentence


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
