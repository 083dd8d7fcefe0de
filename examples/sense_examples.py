"""Sentences around words of several meanings, a few for each meaning."""

import re
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data" / "senses.tsv"
_BRACKETED = re.compile(r"\[[^\[\]]+\]")


class Example(NamedTuple):
    word: str
    sense: str
    tokens: list[str]
    position: int

    @property
    def target(self) -> str:
        return self.tokens[self.position]


def read_examples(path: Path) -> list[Example]:
    """Reads a word, its sense, and a sentence of tokens a line, parted by tabs."""
    found: list[Example] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        tokens = fields[-1].split()
        places = [k for k, token in enumerate(tokens) if _BRACKETED.fullmatch(token)]
        if len(fields) != 3 or len(places) != 1:
            raise SystemExit(
                f"{path}, line {number}: must be a word, a sense and a sentence with "
                f"one token in brackets, with tabs between them. Received: {line!r}"
            )
        (position,) = places
        tokens[position] = tokens[position][1:-1]
        if tokens.count(tokens[position]) > 1:
            raise SystemExit(
                f"{path}, line {number}: the word in brackets must stand once in its "
                f"sentence. Received: {line!r}"
            )
        if any((tokens, position) == other[2:] for other in found):
            raise SystemExit(
                f"{path}, line {number}: a sentence must stand once in the file, with "
                f"the same word in brackets. Received: {line!r}"
            )
        found.append(Example(fields[0], fields[1], tokens, position))
    return found


def examples_of(words: list[str] | None, examples: list[Example]) -> dict[str, list]:
    """Returns the examples of each word, of all words if none are named."""
    found: dict[str, list[Example]] = {}
    for example in examples:
        found.setdefault(example.word, []).append(example)
    if unknown := set(words or ()) - set(found):
        raise SystemExit(
            f"--words: must be of {', '.join(found)}. Received: {', '.join(unknown)}"
        )
    return {word: found[word] for word in words or found}
