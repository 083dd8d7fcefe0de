"""Sentences around words of several meanings, a few for each meaning."""

from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data" / "senses.tsv"


class Example(NamedTuple):
    word: str
    sense: str
    tokens: list[str]
    position: int

    @property
    def target(self) -> str:
        return self.tokens[self.position]


def read_examples(path: Path) -> list[Example]:
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        word, sense, sentence = line.split("\t")
        tokens = sentence.split()
        (position,) = (k for k, token in enumerate(tokens) if token.startswith("["))
        tokens[position] = tokens[position].strip("[]")
        found.append(Example(word, sense, tokens, position))
    return found
