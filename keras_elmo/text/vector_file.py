"""Static word vectors in the text formats of word2vec, GloVe and fastText."""

import os
import reprlib
from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from keras_elmo.text.lines import read_lines
from keras_elmo.utils.checks import check_path, check_positive
from keras_elmo.utils.files import replacing_text
from keras_elmo.utils.types import StrPath

_FLOAT32_MAX = float(np.finfo("float32").max)


def read_vector_file(
    path: StrPath, max_words: int | None = None
) -> tuple[list[str], np.ndarray]:
    """Returns the words of a file, each once, and their `(words, units)` float32.

    A line is a word and its numbers, separated by single spaces. Files of word2vec and
    fastText begin with the number of words and the length of the vectors. A repeated
    word keeps its first vector. Files begin with the most frequent words; `max_words`
    of them are read.
    """
    check_path(path=path)
    path = os.fspath(path)
    check_positive(max_words=max_words)
    rows: dict[str, None] = {}
    numbers = array("f")
    units, announced, header, num_lines = 0, 0, 0, 0
    if not os.path.isfile(path):
        raise ValueError(f"no file {path}")
    for place, line in enumerate(read_lines([path], keep_blank=True), 1):
        # Some words of GloVe contain spaces; lines of word2vec end with one.
        fields = line.rstrip(" ").split(" ")
        if fields == [""]:
            continue
        if not num_lines and not header:
            # Vectors of one number would look the same.
            if len(fields) == 2 and all(map(str.isdecimal, fields)):
                announced, units = map(int, fields)
                header = place
                continue
            units = len(fields) - 1
        word, vector = _word_and_vector(fields, units, f"{path}, line {place}")
        num_lines += 1
        # A tokenizer makes no word of spaces.
        if word.strip(" ") and word not in rows:
            rows[word] = None
            numbers.extend(vector)
        if len(rows) == max_words:
            break
    if not rows:
        raise ValueError(f"{path}: must hold a word and its vector")
    # Half a download.
    if num_lines < announced and len(rows) != max_words:
        raise ValueError(
            f"{path}: line {header} says {announced:,} words, and {num_lines:,} are "
            "there"
        )
    return list(rows), np.frombuffer(numbers, np.float32).reshape(len(rows), -1)


def write_vector_file(
    path: StrPath, words: Sequence[str], vectors: Iterable[np.ndarray], units: int
) -> None:
    """Writes distinct words and their vectors, `(units,)`, in word2vec's text format.

    The words come by their frequency, and have no white space of ASCII.
    """
    with replacing_text(path) as file:
        file.write(f"{len(words)} {units}\n")
        for word, vector in zip(words, vectors, strict=True):
            # As few digits as tell one float32 from the next.
            file.write(f"{word} {' '.join(map(str, vector))}\n")


def _word_and_vector(
    fields: list[str], units: int, where: str
) -> tuple[str, list[float]]:
    try:
        vector = list(map(float, fields[len(fields) - units :]))
        # False for NaN, too.
        fits = all(abs(number) <= _FLOAT32_MAX for number in vector)
    except ValueError:
        fits = False
    word = " ".join(fields[:-units])
    if not fits or not 1 <= units < len(fields) or _has_more(word):
        raise ValueError(
            f"{where}: must be a word and {units or 'its'} numbers. "
            f"Received: {reprlib.repr(' '.join(fields))}"
        )
    return word, vector


def _has_more(word: str) -> bool:
    """Whether it is more than a word: with numbers of a longer vector, or a tab."""
    if "\t" in word or (word.endswith(" ") and word.strip(" ")):
        return True
    _, space, last = word.rpartition(" ")
    try:
        float(last)
    except ValueError:
        return False
    return bool(space)
