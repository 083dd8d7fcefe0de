"""Lines of words in, the same lines with tags out."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, TypeAlias

from keras_elmo.text.file_kinds import is_conll
from keras_elmo.text.first_line import first_line, uncompressed
from keras_elmo.text.lines import Line, form_of, strict_lines
from keras_elmo.text.tagged_text import (
    DOCUMENT_START,
    TreebankColumns,
    WordColumns,
    is_treebank,
)
from keras_elmo.utils.checks import called, received

if TYPE_CHECKING:
    # It takes NumPy.
    from keras_elmo.text.answers import TagsSentences

Format: TypeAlias = Literal["text", "columns", "conllu"]
FORMATS: tuple[Format, ...] = ("text", "columns", "conllu")

_ENDINGS = (".conll", ".bio", ".iob", ".iob2", ".bioes")


class _Part(NamedTuple):
    """A sentence, or `[]` for lines without one, and how to write it with its tags."""

    sentence: str | list[str]
    with_tags: Callable[[Sequence[str], Sequence[str]], Iterable[str]]


def tagged_lines(
    tagger: "TagsSentences",
    path: str,
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
    waiting: deque[_Part] = deque()

    def sentences() -> Iterator[str | list[str]]:
        for part in _read(path, stream, format, column):
            waiting.append(part)
            yield part.sentence

    for words, tags in tagger.tag(sentences()):
        yield from waiting.popleft().with_tags(words, tags)


def json_lines(
    tagger: "TagsSentences",
    path: str,
    stream: BinaryIO | None = None,
    format: Format | None = None,
    column: str | int | None = None,
) -> Iterator[str]:
    """Yields an object for each sentence: its words, their tags and probabilities.

    A blank line of text has none. Probabilities are by tag, without those that are 0
    when rounded.
    """
    parts = _read(path, stream, format, column)
    sentences = (part.sentence for part in parts if part.sentence != [])
    for words, tags, rows in tagger.tags_and_marginals(sentences):
        probabilities = [
            {tag: x for tag, x in zip(tagger.tags, row, strict=True) if x}
            for row in rows.astype("float64").round(6).tolist()
        ]
        about = {"words": words, "tags": tags, "probabilities": probabilities}
        yield json.dumps(about, ensure_ascii=False)


def _read(
    path: str,
    stream: BinaryIO | None,
    format: Format | None,
    column: str | int | None,
) -> Iterator[_Part]:
    first, lines = first_line(strict_lines(path, stream), skipped=("#",))
    if format is None:
        format = _format_of(path, first, is_file=stream is None)
    if column is not None and format != "conllu":
        told = received(column=column)
        raise ValueError(f"{called('column')} applies only to CoNLL-U. {told}")
    if format == "text":
        yield from (_Part(line, _words_and_tags) for _, line in lines)
        return
    table: WordColumns = WordColumns(path)
    place = 0
    if format == "conllu":
        table = TreebankColumns(path)
        place = table.place(column)
    for block, has_words in table.blocks(lines):
        rows = [*table.rows(block)] if has_words else []
        words = [table.cell(row, table.word, "word") for row in rows]
        numbers = [number for number, _ in rows]
        yield _Part(words, partial(_lines_with_tags, table, place, block, numbers))


def _format_of(path: str, first: str, is_file: bool) -> Format:
    """Returns the format by the name of a file, its first line, or its first lines."""
    if is_treebank(path, first):
        return "conllu"
    if uncompressed(path).endswith(_ENDINGS) or first.startswith(DOCUMENT_START):
        return "columns"
    cells = first.split("\t")
    if len(cells) > 1 and all(cell and " " not in cell for cell in cells):
        return "columns"
    form = form_of(path) if is_file else None
    return "columns" if form is not None and is_conll(form) else "text"


def _words_and_tags(words: Sequence[str], tags: Sequence[str]) -> Iterator[str]:
    yield from map("\t".join, zip(words, tags, strict=True))
    # A blank line follows each sentence.
    yield ""


def _lines_with_tags(
    table: WordColumns,
    place: int,
    lines: Iterable[Line],
    numbers: Sequence[int],
    words: Sequence[str],
    tags: Sequence[str],
) -> Iterator[str]:
    tag_of = dict(zip(numbers, tags, strict=True))
    for number, line in lines:
        tag = tag_of.get(number)
        yield line if tag is None else table.with_tag(line, place, tag)
