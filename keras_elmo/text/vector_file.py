"""Static word vectors in the text formats of word2vec, GloVe and fastText."""

import os
import reprlib
from array import array
from collections.abc import Iterator

import numpy as np

from keras_elmo.text.lines import read_lines
from keras_elmo.utils.checks import check_positive

_GREATEST = float(np.finfo("float32").max)


def read_vector_file(
    path: str | os.PathLike[str], max_words: int | None = None
) -> tuple[list[str], np.ndarray]:
    """Reads a word and its vector from each line.

    A line is the word and the numbers, with one space between any two. word2vec and
    fastText say in a first line how many words there are and how long the vectors;
    GloVe does not.

    Args:
        path: the file; `.gz` and `.xz` are decompressed.
        max_words: read no more than that many; such files begin with the most frequent
            ones.

    Returns:
        The words, each once, and an array `(words, units)`, float32. Of a word that
        comes more than once, the first vector counts.

    Raises:
        ValueError: a line is not a word and as many finite numbers as the first one
            has, separated by single spaces, or there is none, or fewer than the first
            line says; names the file and the line.
    """
    path = os.fspath(path)
    check_positive(max_words=max_words)
    rows: dict[str, None] = {}
    numbers = array("f")
    units, announced, header, num_lines = None, 0, 0, 0
    for place, line in _numbered_lines(path):
        # A word of some GloVe files has spaces inside it, and a line of word2vec's has
        # one at its end.
        fields = line.rstrip(" ").split(" ")
        if units is None:
            if _is_header(fields):
                announced, units = map(int, fields)
                header = place
                continue
            units = len(fields) - 1
        word, vector = _word_and_vector(fields, units, f"{path}, line {place}")
        num_lines += 1
        # A word of spaces alone is none that a tokenizer makes.
        if word.strip(" ") and word not in rows:
            rows[word] = None
            numbers.extend(vector)
        if len(rows) == max_words:
            break
    if not rows:
        raise ValueError(f"{path}: must hold a word and its vector")
    # Half a download, or half of what a killed program wrote.
    if num_lines < announced and len(rows) != max_words:
        raise ValueError(
            f"{path}: line {header} says {announced:,} words, and {num_lines:,} are "
            "there"
        )
    return list(rows), np.frombuffer(numbers, np.float32).reshape(len(rows), -1)


def _numbered_lines(path: str) -> Iterator[tuple[int, str]]:
    if not os.path.isfile(path):
        raise ValueError(f"no file {path}")
    for place, line in enumerate(read_lines([path], keep_blank=True), 1):
        if line.strip(" "):
            yield place, line


def _is_header(fields: list[str]) -> bool:
    # A vector of one number would look the same; nobody has such.
    return len(fields) == 2 and fields[0].isdecimal() and fields[1].isdecimal()


def _word_and_vector(
    fields: list[str], units: int, where: str
) -> tuple[str, list[float]]:
    try:
        vector = list(map(float, fields[len(fields) - units :]))
        # Not so of what is no number, either.
        fits = all(abs(number) <= _GREATEST for number in vector)
    except ValueError:
        fits = False
    word = " ".join(fields[:-units])
    if not fits or not 1 <= units < len(fields) or _took_more(word):
        raise ValueError(
            f"{where}: must be a word and {units or 'its'} numbers. "
            f"Received: {reprlib.repr(' '.join(fields))}"
        )
    return word, vector


def _took_more(word: str) -> bool:
    """Whether what stands before the numbers is a word and more than that.

    Numbers of a longer vector, or what parts a word from its numbers elsewhere. Spaces
    alone are left to who calls.
    """
    if "\t" in word or (word.endswith(" ") and word.strip(" ")):
        return True
    _, space, last = word.rpartition(" ")
    try:
        float(last)
    except ValueError:
        return False
    return bool(space)
