"""Lines of words in, the same lines with tags out."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

from keras_elmo.text.file_kinds import is_conll
from keras_elmo.text.lines import Line, form_of, strict_lines
from keras_elmo.text.tagged_text import (
    TreebankColumns,
    WordColumns,
    blocks_of,
    is_treebank,
    without_comments,
)
from keras_elmo.utils.checks import called, received
from keras_elmo.utils.types import Tensor

Format: TypeAlias = Literal["text", "columns", "conllu"]
FORMATS: tuple[Format, ...] = ("text", "columns", "conllu")

# Sentences, texts or lists of words, to the words and the tags of each.
Tag: TypeAlias = Callable[
    [Iterable[str | list[str]]], Iterable[tuple[Sequence[str], Sequence[str]]]
]
# The same, with the probabilities of all tags.
TagsAndMarginals: TypeAlias = Callable[
    [Iterable[str | list[str]]],
    Iterable[tuple[Sequence[str], Sequence[str], Tensor]],
]

_ENDINGS = (".conll", ".bio", ".iob", ".iob2", ".bioes")


class _Block(NamedTuple):
    """Lines that are one sentence at most.

    `tagged` makes the line of a word with its tag, by the number of its line.
    """

    lines: list[Line]
    sentence: str | list[str]
    is_sentence: bool
    tagged: dict[int, Callable[[str], str]]


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
    format, or a first line of CoNLL-U or `-DOCSTART-`, or the first lines of a file.
    """
    blocks, output = _read(path, stream, format, column)
    waiting: deque[_Block] = deque()

    def sentences() -> Iterator[str | list[str]]:
        for block in blocks:
            waiting.append(block)
            yield block.sentence

    for words, tags in tag(sentences()):
        yield from output(waiting.popleft(), words, tags)


def json_lines(
    path: str,
    tags_and_marginals: TagsAndMarginals,
    names: Sequence[str],
    stream: BinaryIO | None = None,
    format: Format | None = None,
    column: str | int | None = None,
) -> Iterator[str]:
    """Yields an object for each sentence: its words, their tags and probabilities.

    A blank line of text has none. The probabilities of a word are those of its tags by
    their `names`, without those that are 0 when rounded.
    """
    blocks, _ = _read(path, stream, format, column)
    sentences = (block.sentence for block in blocks if block.is_sentence)
    for words, tags, rows in tags_and_marginals(sentences):
        probabilities = [
            {name: x for name, x in zip(names, row, strict=True) if x}
            for row in rows.astype("float64").round(6).tolist()
        ]
        about = {"words": words, "tags": tags, "probabilities": probabilities}
        yield json.dumps(about, ensure_ascii=False)


def _read(
    path: str,
    stream: BinaryIO | None,
    format: Format | None,
    column: str | int | None,
) -> tuple[Iterable[_Block], Callable[..., Iterator[str]]]:
    """Returns the blocks of a file, and what makes lines of one."""
    lines = strict_lines(path, stream)
    begun: list[Line] = []
    for line in lines:
        begun.append(line)
        if line[1].strip() and not line[1].startswith("#"):
            break
    if not begun:
        return (), _words_and_tags
    lines = chain(begun, lines)
    if format is None:
        format = _format_of(path, begun[-1], is_file=stream is None)
    if column is not None and format != "conllu":
        told = received(column=column)
        raise ValueError(f"{called('column')} applies only to CoNLL-U. {told}")
    if format == "text":
        blocks: Iterable[_Block] = (_Block([line], line[1], True, {}) for line in lines)
        output = _words_and_tags
    else:
        blocks = _column_blocks(path, lines, format == "conllu", column)
        output = _lines_with_tags
    return blocks, output


def _format_of(path: str, first: Line, is_file: bool) -> Format:
    """Returns the format by the name of a file, its first line, or its first lines."""
    if is_treebank(path, first):
        return "conllu"
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    if name.endswith(_ENDINGS) or first[1].startswith("-DOCSTART-"):
        return "columns"
    cells = first[1].split("\t")
    if len(cells) > 1 and all(cell and " " not in cell for cell in cells):
        return "columns"
    form = form_of(path) if is_file else None
    return "columns" if form is not None and is_conll(form) else "text"


def _words_and_tags(
    block: _Block, words: Sequence[str], tags: Sequence[str]
) -> Iterator[str]:
    yield from map("\t".join, zip(words, tags, strict=True))
    # A blank line follows each sentence.
    yield ""


def _lines_with_tags(
    block: _Block, words: Sequence[str], tags: Sequence[str]
) -> Iterator[str]:
    rest = iter(tags)
    for number, line in block.lines:
        tagged = block.tagged.get(number)
        yield line if tagged is None else tagged(next(rest))


def _column_blocks(
    path: str, lines: Iterable[Line], is_treebank: bool, column: str | int | None
) -> Iterator[_Block]:
    """Yields sentences in columns, and what is between them."""
    table, place = None, 0
    for between, block in blocks_of(lines):
        if table is None and not between:
            if begun := without_comments(block):
                table = (TreebankColumns if is_treebank else WordColumns)(path, begun)
                place = table.place(column) if is_treebank else 0
        words = []
        tagged: dict[int, Callable[[str], str]] = {}
        if table is not None and not between:
            texts = dict(block)
            for row in table.rows(block):
                word, _ = table.word_and_tag(row, table.word)
                words.append(word)
                tagged[row[0]] = partial(table.with_tag, texts[row[0]], place)
        yield _Block(block, words, bool(words), tagged)
