"""Files of words with tags: the columns of CoNLL-2002 and -2003, and CoNLL-U."""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import NoneType
from typing import TypeAlias

from keras_elmo.text.first_line import first_line, uncompressed
from keras_elmo.text.lines import Files, Line, expand_files, refuse_line, strict_lines
from keras_elmo.text.tagged_sentence import TaggedSentence, count_tags, warn_of_header
from keras_elmo.utils.checks import called, check_type, did_you_mean, received, refuse

# The number of a line, and its columns.
Row: TypeAlias = tuple[int, list[str]]

DOCUMENT_START = "-DOCSTART-"
# Lines that begin so have no word, where they stand above a sentence.
NO_WORDS = ("#", DOCUMENT_START)
_COLUMN = "the name or the place of a column"
# Number of a word, of words written as one (1-2) or left out of the text (1.1).
_WORD_NUMBER = re.compile(r"[0-9]+([-.][0-9]+)?")
_BLANKS = re.compile("[ \t]+")
# In CoNLL-U, what has not been annotated.
_UNSPECIFIED = "_"
# Columns in which every word has a value; it may have no features.
_ANNOTATED = ("lemma", "upos", "xpos", "head", "deprel")
# What a header calls columns.
_WORD_NAMES = {"word", "words", "token", "tokens", "form", "text"}
_TAG_NAMES = {"tag", "tags", "label", "labels", "lemma", "upos", "xpos", "entity"}


def read_tagged(files: Files, column: str | int | None = None) -> list[TaggedSentence]:
    """Reads sentences with a tag for each word.

    A file has one word per line, and a blank line after each sentence. There are two
    forms. In columns, the word is the first, or the second after a number that counts
    the words of its sentence, and between them are tabs, or spaces in a file without
    tabs. CoNLL-U is recognised by a name that ends in `.conllu`, or by a
    first line of 10 columns, of which the first is a number.

    Columns may have a header, such as `token`, `pos` and `tag`, with their names.

    Skipped are `-DOCSTART-` lines and comments: lines that begin with `#`, above a
    sentence and not of the right columns. In CoNLL-U, words written as one (1-2) and
    words that the text leaves out (1.1) are skipped, too.

    The `column` of the tags is in CoNLL-U a name such as `"xpos"`, by default `"upos"`;
    otherwise `"pos"`, `"chunk"` or `"ner"`, by default the last one. A number is a
    place, from 0 on, or from -1 backwards.
    """
    check_type((str, int, NoneType), f"{_COLUMN}, or None", column=column)
    if isinstance(column, bool):
        refuse("column", f"{_COLUMN}, or None", column)
    return [
        sentence
        for path in expand_files(files, of_sentences=False)
        for sentence in _read_file(path, column)
    ]


def _read_file(path: str, column: str | int | None) -> list[TaggedSentence]:
    first, lines = first_line(strict_lines(path), skipped=NO_WORDS)
    table = (TreebankColumns if is_treebank(path, first) else WordColumns)(path)
    sentences = []
    for block, has_words in table.blocks(lines):
        if has_words:
            place = table.place(column)
            if rows := [*table.rows(block)]:
                words = [table.cell(row, table.word, "word") for row in rows]
                tags = [table.cell(row, place, "tag") for row in rows]
                numbers = [number for number, _ in rows]
                sentences.append(TaggedSentence(words, tags, path, numbers))
    if not sentences:
        raise ValueError(f"{path}: must hold words with tags. Received: no words")
    name = table.name_of(place)
    if {tag for sentence in sentences for tag in sentence.tags} == {_UNSPECIFIED}:
        raise ValueError(
            f"{path}: must hold words with tags. "
            f"Received: no tags but {_UNSPECIFIED} in column {name}"
        )
    table.warn(sentences, name)
    return sentences


def is_treebank(path: str, first: str) -> bool:
    """Whether a file is CoNLL-U, by its name or by its first line with a word."""
    if uncompressed(path).endswith(".conllu"):
        return True
    number, *cells = first.split("\t")
    return len(cells) == 9 and bool(_WORD_NUMBER.fullmatch(number))


class WordColumns:
    """Columns of CoNLL-2002 and -2003, or with any other number of columns.

    The first line with a word shows how many there are, and what is between them.
    """

    # Places of columns of tags.
    names: Mapping[str, int] = {"pos": 1, "chunk": 2, "ner": -1}
    default: str | int = -1
    word = 0
    width = 0
    separator = "tabs"
    _has_header = False
    _first: Line

    def __init__(self, path: str) -> None:
        self.path = path

    def blocks(self, lines: Iterable[Line]) -> Iterator[tuple[list[Line], bool]]:
        """Yields the lines of a sentence, or between two, and whether to read words."""

        def is_between(line: Line) -> bool:
            return not line[1].strip() or line[1].startswith(DOCUMENT_START)

        for between, group in groupby(lines, is_between):
            block = list(group)
            yield block, not between and (self.width > 0 or self._learn(block))

    def _learn(self, block: Iterable[Line]) -> bool:
        """Learns the form from a sentence; returns whether it has a word."""
        lines = [line for line in block if not line[1].startswith("#")]
        if not lines:
            return False
        self._first = lines[0]
        self.separator = "tabs" if "\t" in lines[0][1] else "spaces"
        word, *tags = (cell.casefold() for cell in self._cells(lines[0][1]))
        self.width = 1 + len(tags)
        if tags and word in _WORD_NAMES and {*tags} <= _TAG_NAMES | {*self.names}:
            self._has_header = True
            self.names = {tag: place for place, tag in enumerate(tags, 1)}
            del lines[0]
        numbers = [self._cells(line)[0] for _, line in lines]
        counted = [str(k) for k in range(1, len(numbers) + 1)]
        if self.width > 2 and len(numbers) > 1 and numbers == counted:
            self.word = 1
        return True

    def _cells(self, line: str) -> list[str]:
        """Returns the columns of a line."""
        if self.separator == "tabs":
            return [cell.strip(" ") for cell in line.split("\t")]
        return _BLANKS.split(line.strip(" \t"))

    def rows(self, block: Sequence[Line]) -> Iterator[Row]:
        """Yields the columns of the words of a sentence."""
        is_above = True
        for number, line in block:
            if self._has_header and number == self._first[0]:
                continue
            cells = self._cells(line)
            # Rows between tabs are read between spaces, too, but no comment is.
            is_row = len(cells) == self.width and (
                self.separator == "tabs" or "\t" not in line
            )
            if is_above and line.startswith("#") and not is_row:
                continue
            is_above = False
            if len(cells) != self.width:
                rule = f"have {self.width} columns, with {self.separator} between them"
                rule += f", as line {self._first[0]} does"
                refuse_line(self.path, number, rule, line)
            yield number, cells

    def place(self, column: str | int | None) -> int:
        """Returns the place of a column of tags, from 0 on."""
        if self.width == 1:
            number, line = self._first
            refuse_line(self.path, number, "have a word and its tag", line)
        place = self.default if column is None else column
        names = {
            name: k for name, k in self.names.items() if self.word != k < self.width
        }
        if isinstance(place, str):
            place = names.get(place, self.width)
        if -self.width <= place < self.width and place % self.width > self.word:
            return place % self.width
        hint = did_you_mean(column, names) if isinstance(column, str) else ""
        raise ValueError(
            f"{called('column')} must be {_COLUMN} with tags: {', '.join(names)}, or "
            f"from {self.word + 1} to {self.width - 1}, in {self.path}. "
            f"{received(column=column)}{hint}"
        )

    def name_of(self, place: int) -> str:
        """Returns the name of a column, or its place if it has none."""
        names = self.names if self._has_header else {}
        return next((name for name, k in names.items() if k == place), str(place))

    def cell(self, row: Row, place: int, what: str) -> str:
        """Returns a word or a tag."""
        number, cells = row
        if not cells[place]:
            rule = f"have a {what} that is not empty"
            refuse_line(self.path, number, rule, "\t".join(cells))
        return cells[place]

    def with_tag(self, line: str, place: int, tag: str) -> str:
        """Returns the line of a word with a tag as its last column."""
        # Also after words alone.
        is_tab = self.separator == "tabs" or self.width == 1
        return line.rstrip(" ") + ("\t" if is_tab else " ") + tag

    def warn(self, sentences: Sequence[TaggedSentence], column: str) -> None:
        """Warns of a file that may be plain text, or may have a header."""
        # Text has many columns, with spaces between.
        if self.width > 2 and self.separator == "spaces" and not self._has_header:
            tags = sentences[0].tags
            if len(sentences) == 1 and 1 < len(tags) == len({*tags}):
                warnings.warn(
                    f"{self.path}: every tag occurs once; is it text rather than a "
                    "word and its tag on each line?",
                    stacklevel=5,
                )
        warn_of_header(sentences)


class TreebankColumns(WordColumns):
    """Columns of CoNLL-U."""

    names: Mapping[str, int] = {
        name: place
        for place, name in enumerate(
            ["lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"], 2
        )
    }
    default = "upos"
    word = 1
    width = 10
    _has_header = True

    def rows(self, block: Sequence[Line]) -> Iterator[Row]:
        following = 1
        for number, line in block:
            if line.startswith("#"):
                continue
            cells = self._cells(line)
            if len(cells) != self.width:
                refuse_line(self.path, number, "have 10 columns between tabs", line)
            matched = _WORD_NUMBER.fullmatch(cells[0])
            if matched and matched[1]:
                continue
            if cells[0] != str(following):
                rule = f"begin with {following}, the number of the word"
                refuse_line(self.path, number, rule, line)
            following += 1
            yield number, cells

    def with_tag(self, line: str, place: int, tag: str) -> str:
        """Returns the line of a word with a tag in a column."""
        cells = self._cells(line)
        cells[place] = tag
        return "\t".join(cells)

    def warn(self, sentences: Sequence[TaggedSentence], column: str) -> None:
        """Warns of words that the treebank has no tag for."""
        counts = count_tags(sentences)
        if column in _ANNOTATED and _UNSPECIFIED in counts:
            warnings.warn(
                f"column {column} has words without a tag; {_UNSPECIFIED} is taken for "
                f"theirs: {counts.describe([_UNSPECIFIED])}",
                stacklevel=5,
            )
