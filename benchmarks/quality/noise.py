"""Misspelt text: development sentences with typing errors, errors of OCR, lower case.

The sentence's number and the word's place decide which words are changed, and how. So
every kind of vectors reads the same text, and a word that is changed at a low rate is
changed in the same way at a higher one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from data_sets import Sentence

_LEAST_LETTERS = 3
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_CONFUSED = (
    *(("m", "rn"), ("rn", "m"), ("d", "cl"), ("cl", "d"), ("w", "vv"), ("h", "li")),
    *(("l", "1"), ("i", "l"), ("I", "l"), ("o", "0"), ("O", "0"), ("s", "5")),
    *(("S", "5"), ("B", "8"), ("g", "9"), ("e", "c"), ("c", "e"), ("h", "b")),
    *(("b", "h"), ("n", "u"), ("u", "n"), ("a", "o"), ("t", "f"), ("f", "t")),
    *(("y", "v"), ("in", "m"), ("ri", "n")),
)


@dataclass(frozen=True)
class Noise:
    """One kind of noise, and the share of words that it changes.

    Words of fewer than three letters are left alone. `kind` is a key of `KINDS`.
    """

    kind: str
    rate: float = 1.0

    def applied(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Returns the sentences with noise; each keeps its number of words."""
        return [
            [self._word(w, f"{self.kind} {number} {k}") for k, w in enumerate(words)]
            for number, words in enumerate(sentences)
        ]

    def _word(self, word: str, seed: str) -> str:
        if sum(map(str.isalpha, word)) < _LEAST_LETTERS:
            return word
        random = Random(seed)
        return KINDS[self.kind](word, random) if random.random() < self.rate else word


def mistyped(word: str, random: Random) -> str:
    """Drops, doubles, mistypes or swaps a character other than the first."""
    k = random.randrange(1, len(word))
    start, letter, end = word[:k], word[k], word[k + 1 :]
    errors = {start + end, start + letter * 2 + end}
    errors |= {start + key + end for key in _neighbours(letter)}
    if end:
        errors.add(start + end[0] + letter + end[1:])
    return random.choice(sorted(errors - {word}))


def _neighbours(letter: str) -> list[str]:
    """Returns the letters beside a lower-case letter on a keyboard."""
    for row in _KEYS:
        if (place := row.find(letter)) >= 0:
            return [*row[max(0, place - 1) : place], *row[place + 1 : place + 2]]
    return []


def misread(word: str, random: Random) -> str:
    """Takes one group of letters for one that looks alike; the word itself if none."""
    errors = [
        word[:k] + read + word[k + len(printed) :]
        for printed, read in _CONFUSED
        for k in range(len(word))
        if word.startswith(printed, k)
    ]
    return random.choice(errors) if errors else word


def lowered(word: str, random: Random) -> str:
    return word.lower()


KINDS: dict[str, Callable[[str, Random], str]] = {
    "typos": mistyped,
    "OCR": misread,
    "lower case": lowered,
}
RATES = (0.1, 0.2, 0.4)
NOISES = {
    **{
        f"{kind} {rate:.0%}": Noise(kind, rate)
        for kind in ("typos", "OCR")
        for rate in RATES
    },
    "lower case": Noise("lower case"),
}
