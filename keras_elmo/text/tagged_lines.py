"""Lines of words in, the same lines with tags out."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

from keras_elmo.text.lines import Line, strict_lines
from keras_elmo.text.tagged_text import (
    TreebankColumns,
    WordColumns,
    blocks_of,
    is_treebank,
)
from keras_elmo.utils.checks import called, received

Format: TypeAlias = Literal["text", "columns", "conllu"]
FORMATS: tuple[Format, ...] = ("text", "columns", "conllu")

# Sentences, texts or lists of words, to the words and the tags of each.
Tag: TypeAlias = Callable[
    [Iterable[str | list[str]]], Iterable[tuple[Sequence[str], Sequence[str]]]
]

_ENDINGS = (".conll", ".bio", ".iob", ".iob2", ".bioes")


class _Block(NamedTuple):
    """Lines that are one sentence at most; the columns of its words by their lines."""

    lines: list[Line]
    cells: dict[int, list[str]]
    sentence: str | list[str]


def tagged_lines(
    path: str,
    tag: Tag,
    stream: BinaryIO | None = None,
    format: Format | None = None,
    column: str | int | None = None,
) -> Iterator[str]:
    """Yields the lines of a file with tags, in their order, while it is read.

    A line of text becomes a line for each word, the word and its tag with a tab
    between, and a blank line; a blank line stays one. In columns the tag becomes the
    last one. In CoNLL-U it replaces a column, by default `"upos"`. Comments,
    `-DOCSTART-` and blank lines of both stay as they are. The name of a file tells its
    format, or a first line of CoNLL-U.
    """
    lines = strict_lines(path, stream)
    first = next(lines, None)
    if first is None:
        return
    lines = chain([first], lines)
    format = format or _format_of(path, first)
    if column is not None and format != "conllu":
        told = received(column=column)
        raise ValueError(f"{called('column')} applies only to CoNLL-U. {told}")
    if format == "text":
        blocks: Iterable[_Block] = (_Block([line], {}, line[1]) for line in lines)
        # A blank line follows each sentence.
        output = _words_and_tags
    else:
        writer = _ColumnWriter(path, format == "conllu", column)
        blocks = writer.blocks(lines)
        output = writer.output
    waiting: deque[_Block] = deque()

    def sentences() -> Iterator[str | list[str]]:
        for block in blocks:
            waiting.append(block)
            yield block.sentence

    for words, tags in tag(sentences()):
        yield from output(waiting.popleft(), words, tags)


def _format_of(path: str, first: Line) -> Format:
    if is_treebank(path, first):
        return "conllu"
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    return "columns" if name.endswith(_ENDINGS) else "text"


def _words_and_tags(
    block: _Block, words: Sequence[str], tags: Sequence[str]
) -> Iterator[str]:
    yield from map("\t".join, zip(words, tags, strict=True))
    yield ""


class _ColumnWriter:
    """Reads the words of columns, and writes the columns with tags."""

    def __init__(self, path: str, is_treebank: bool, column: str | int | None) -> None:
        self._path = path
        self._is_treebank = is_treebank
        self._column = column
        self._table: WordColumns | None = None
        self._place = 0

    def blocks(self, lines: Iterable[Line]) -> Iterator[_Block]:
        """Yields sentences and what is between them."""
        for between, block in blocks_of(lines):
            if self._table is None and not between:
                self._set_table(block)
            cells: dict[int, list[str]] = {}
            sentence = []
            if self._table is not None and not between:
                for row in self._table.rows(block):
                    word, _ = self._table.word_and_tag(row, self._table.word)
                    sentence.append(word)
                    cells[row[0]] = row[1]
            yield _Block(block, cells, sentence)

    def _set_table(self, block: list[Line]) -> None:
        first = next((line for line in block if not line[1].startswith("#")), None)
        if first is not None:
            kind = TreebankColumns if self._is_treebank else WordColumns
            self._table = kind(self._path, first)
            if self._is_treebank:
                self._place = self._table.place(self._column)

    def output(
        self, block: _Block, words: Sequence[str], tags: Sequence[str]
    ) -> Iterator[str]:
        """Yields the lines of a block with the tags of its words."""
        rest = iter(tags)
        for number, line in block.lines:
            if number not in block.cells:
                yield line
            elif self._is_treebank:
                cells = list(block.cells[number])
                cells[self._place] = next(rest)
                yield "\t".join(cells)
            else:
                yield f"{line.rstrip(' ')}{self._between}{next(rest)}"

    @property
    def _between(self) -> str:
        is_tabs = self._table is not None and self._table.separator == "tabs"
        # Of words alone, too.
        is_word = self._table is not None and self._table.width == 1
        return "\t" if is_tabs or is_word else " "
