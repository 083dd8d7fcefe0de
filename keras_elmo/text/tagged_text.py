"""Files of words with tags: the columns of CoNLL-2002 and -2003, and CoNLL-U."""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import NoneType
from typing import ClassVar, TypeAlias

from keras_elmo.text.lines import Files, Line, expand_files, refuse_line, strict_lines
from keras_elmo.text.tagged_sentence import (
    TaggedSentence,
    warn_of_header,
    warn_of_unspecified,
)
from keras_elmo.utils.checks import called, check_type, did_you_mean, received, refuse

# The columns of a line, and its number.
_Row: TypeAlias = tuple[int, list[str]]

_COLUMN = "the name or the place of a column"
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
    numbered = strict_lines(path)
    blocks = [block for between, block in blocks_of(numbered) if not between]
    begun = next(filter(None, map(without_comments, blocks)), None)
    sentences = []
    is_conllu = begun is not None and is_treebank(path, begun[0])
    if begun is not None:
        table = (TreebankColumns if is_conllu else WordColumns)(path, begun)
        place = table.place(column)
        for block in blocks:
            if rows := [*table.rows(block)]:
                pairs = [table.word_and_tag(row, place) for row in rows]
                words, tags = map(list, zip(*pairs, strict=True))
                numbers = [number for number, _ in rows]
                sentences.append(TaggedSentence(words, tags, path, numbers))
    every_tag = [tag for sentence in sentences for tag in sentence.tags]
    distinct = set(every_tag)
    if distinct <= {_UNSPECIFIED}:
        kind = f"tags but _ in column {table.called(place)}" if distinct else "words"
        raise ValueError(f"{path}: must hold words with tags. Received: no {kind}")
    if len(blocks) == 1 and 1 < len(distinct) == len(every_tag):
        table.warn_of_text()
    if not is_conllu:
        warn_of_header(sentences)
    elif _UNSPECIFIED in distinct and (name := table.called(place)) in _ANNOTATED:
        warn_of_unspecified(sentences, _UNSPECIFIED, name)
    return sentences


def blocks_of(lines: Iterable[Line]) -> Iterator[tuple[bool, list[Line]]]:
    """Yields the lines of each sentence, and those between, with whether they are."""

    def is_between(line: Line) -> bool:
        return not line[1].strip() or line[1].startswith("-DOCSTART-")

    for between, block in groupby(lines, is_between):
        yield between, list(block)


def without_comments(block: Iterable[Line]) -> list[Line]:
    return [line for line in block if not line[1].startswith("#")]


def is_treebank(path: str, first: Line) -> bool:
    """Whether a file is CoNLL-U, by its name or by its first line."""
    if path.removesuffix(".gz").removesuffix(".xz").endswith(".conllu"):
        return True
    cells = first[1].split("\t")
    return len(cells) == TreebankColumns.width and bool(
        TreebankColumns.ID.fullmatch(cells[0])
    )


class WordColumns:
    """Rows of CoNLL-2002 and -2003, or with any other number of columns.

    The first of the `lines` of a sentence shows how many there are, and what is between
    them.
    """

    names: ClassVar[Mapping[str, int]] = {"pos": 1, "chunk": 2, "ner": -1}
    default: ClassVar[str | int] = -1
    word = 0

    def __init__(self, path: str, lines: Sequence[Line]) -> None:
        self.path = path
        self.first = first = lines[0]
        self.separator = "tabs" if "\t" in first[1] else "spaces"
        names = [cell.casefold() for cell in self.cells(first[1])]
        self.width = len(names)
        self.header: Mapping[str, int] = {}
        word, *tags = names
        if tags and word in _WORD_NAMES and {*tags} <= _TAG_NAMES | {*self.names}:
            self.header = {name: place for place, name in enumerate(names)}
        numbers = [self.cells(line)[0] for _, line in lines[bool(self.header) :]]
        counted = [str(k) for k in range(1, len(numbers) + 1)]
        if self.width > 2 and len(numbers) > 1 and numbers == counted:
            self.word = 1

    def cells(self, line: str) -> list[str]:
        """Returns the columns of a line."""
        if self.separator == "tabs":
            return [cell.strip(" ") for cell in line.split("\t")]
        return _BLANKS.split(line.strip(" \t"))

    def rows(self, block: Sequence[Line]) -> Iterator[_Row]:
        """Yields the columns of the words of a sentence."""
        is_above = True
        for number, line in block:
            if self.header and number == self.first[0]:
                continue
            cells = self.cells(line)
            # Rows between tabs are read between spaces, too, but no comment is.
            is_row = len(cells) == self.width and (
                self.separator == "tabs" or "\t" not in line
            )
            if is_above and line.startswith("#") and not is_row:
                continue
            is_above = False
            if len(cells) != self.width:
                rule = f"have {self.width} columns, with {self.separator} between them"
                rule += f", as line {self.first[0]} does"
                refuse_line(self.path, number, rule, line)
            yield number, cells

    def warn_of_text(self) -> None:
        """Warns that a file of one sentence, with each tag once, may be plain text.

        If it has columns as text has: many, and spaces between them.
        """
        if self.width > 2 and self.separator == "spaces" and not self.header:
            warnings.warn(
                f"{self.path}: every tag occurs once; is it text rather than a word "
                "and its tag on each line?",
                stacklevel=4,
            )

    def called(self, place: int) -> str:
        """Returns the name of a column, or its place."""
        return str(place)

    def place(self, column: str | int | None) -> int:
        """Returns the place of a column of tags, from 0 on."""
        if self.width == 1:
            number, line = self.first
            refuse_line(self.path, number, "have a word and its tag", line)
        place = self.default if column is None else column
        names = self.header or self.names
        names = {name: k for name, k in names.items() if self.word != k < self.width}
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

    def word_and_tag(self, row: _Row, place: int) -> tuple[str, str]:
        """Returns the word and its tag."""
        number, cells = row
        for name, cell in (("word", cells[self.word]), ("tag", cells[place])):
            if not cell:
                rule = f"have a {name} that is not empty"
                refuse_line(self.path, number, rule, "\t".join(cells))
        return cells[self.word], cells[place]

    def with_tag(self, line: str, place: int, tag: str) -> str:
        """Returns the line of a word with a tag as its last column."""
        # Also after words alone.
        is_tab = self.separator == "tabs" or self.width == 1
        return line.rstrip(" ") + ("\t" if is_tab else " ") + tag


class TreebankColumns(WordColumns):
    """Rows of CoNLL-U."""

    names: ClassVar[Mapping[str, int]] = {
        name: place
        for place, name in enumerate(
            ["lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"], 2
        )
    }
    default = "upos"
    word = 1
    width = 10
    # Of a word, of words written as one, or of a word that the text leaves out.
    ID = re.compile(r"[0-9]+([-.][0-9]+)?")

    def __init__(self, path: str, lines: Sequence[Line]) -> None:
        self.path = path
        self.separator = "tabs"
        self.header = {}

    def rows(self, block: Sequence[Line]) -> Iterator[_Row]:
        """Yields the columns of the words of a sentence."""
        following = 1
        for number, line in block:
            if line.startswith("#"):
                continue
            cells = self.cells(line)
            if len(cells) != self.width:
                refuse_line(self.path, number, "have 10 columns between tabs", line)
            matched = self.ID.fullmatch(cells[0])
            if matched and matched[1]:
                continue
            if cells[0] != str(following):
                rule = f"begin with {following}, the number of the word"
                refuse_line(self.path, number, rule, line)
            following += 1
            yield number, cells

    def called(self, place: int) -> str:
        return next(name for name, k in self.names.items() if k == place)

    def with_tag(self, line: str, place: int, tag: str) -> str:
        """Returns the line of a word with a tag in a column."""
        cells = self.cells(line)
        cells[place] = tag
        return "\t".join(cells)
