"""The lines that `prepare` reads from text files, a named column, or an iterable."""

import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, cast

from keras_elmo.text.lines import (
    Files,
    are_files,
    expand_files,
    matching_files,
    positioned_lines,
    text_lines,
)
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.files import parse_json_object
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath

# As JSON has them.
NamesAndSizes: TypeAlias = list[list[Any]]

_PARQUET = b"PAR1"
_PARQUET_ROWS = 1024
_LINE_ENDS = (b"\n", b"\r", b"\0")


class SourceLine(NamedTuple):
    """A line that is not blank, text or tokens, after `position` bytes of a file.

    Or a row that is to become lines; `where` names it in messages.
    """

    file: int
    position: int
    content: Any
    where: str = ""

    @property
    def text(self) -> str:
        """The text; tokens are joined by spaces."""
        if isinstance(self.content, str):
            return self.content
        return b" ".join(self.content).decode()


class LineSource(NamedTuple):
    """Lines, always the same ones.

    Attributes:
        name: names all files in messages.
        files: name and size of each file; no position in it exceeds the size.
        is_split: whether lines are tokens.
        is_stored: whether equal names and sizes mean equal lines.
        lines: can be read once.
    """

    name: str
    files: NamesAndSizes
    is_split: bool
    is_stored: bool
    lines: Iterator[SourceLine]


def with_kind(corpus: Any, argument: str = "corpus") -> tuple[Any, str | None]:
    """Returns a corpus, and "files", "texts" or "tokens"; `None` for other things.

    Reads the first item from an iterator; the returned corpus has it, too. Other
    iterables, which may be batches, are texts if their type says so.
    """
    if are_files(corpus, argument):
        return corpus, "files"
    first: object = None
    if isinstance(corpus, list | tuple):
        first = corpus[0]
    elif isinstance(corpus, Iterator):
        first = next(corpus, "")
        corpus = chain([first] if first else [], corpus)
        if isinstance(first, str | os.PathLike) and os.path.isfile(first):
            return list(corpus), "files"
    else:
        # From `tf.data`, pandas or NumPy.
        dtype = getattr(getattr(corpus, "element_spec", corpus), "dtype", None)
        if str(getattr(dtype, "name", dtype)) in ("string", "object", "str"):
            first = ""
    if isinstance(first, list | tuple):
        return corpus, "tokens"
    return corpus, "texts" if isinstance(first, str | bytes) else None


def open_source(
    corpus: Files | Iterable[object], column: str | None, stats: CorpusStats
) -> LineSource:
    """Opens the `corpus` of `prepare`; `stats` counts the lines that are read.

    A row that is `None` has no line.
    """
    if are_files(corpus) and column is None:
        paths = expand_files(corpus)
        lines = (
            SourceLine(number, *line)
            for number, path in enumerate(paths)
            for line in positioned_lines(path, stats)
        )
        return LineSource(", ".join(paths), names_and_sizes(paths), False, True, lines)
    if are_files(corpus):
        paths = matching_files(corpus)
        name, column = ", ".join(paths), str(column)
        # Another column is another text.
        files = [[f"{file}:{column}", size] for file, size in names_and_sizes(paths)]
        opened = (_read_rows(k, path, column) for k, path in enumerate(paths))
        rows: Iterator[SourceLine] = chain.from_iterable(opened)
    else:
        check_type(Iterable, "text files or an iterable", corpus=corpus)
        name, files = "`corpus`", [["iterable", 0]]
        rows = _read_items(cast(Iterable[object], corpus), column)
    rows = (row for row in rows if row.content is not None)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"there is no text in {name}")
    is_split = not isinstance(first.content, str | bytes)
    lines = (
        row._replace(content=content)
        for row in chain([first], rows)
        for content in _lines_of(row, is_split, stats)
    )
    return LineSource(name, files, is_split, are_files(corpus), lines)


def _lines_of(
    row: SourceLine, is_split: bool, stats: CorpusStats
) -> Iterable[str | list[bytes]]:
    """Returns the lines of a row, as texts or as tokens."""
    value = row.content
    if is_split:
        tokens = _tokens(value, row.where)
        stats.lines += bool(tokens)
        return [tokens] if tokens else []
    if isinstance(value, str):
        value = value.encode(errors="surrogatepass")
    if not isinstance(value, bytes):
        raise _wrong(row.where, "text, as the first row is", value)
    return text_lines(value.split(b"\n"), stats)


def _read_items(corpus: Iterable[object], column: str | None) -> Iterator[SourceLine]:
    if hasattr(corpus, "as_numpy_iterator"):
        # From `tf.data`.
        corpus = corpus.as_numpy_iterator()
    for number, item in enumerate(corpus):
        where = f"`corpus`: item {number}"
        value = item if column is None else _cell(item, column, where)
        yield SourceLine(0, 0, value, where)


def _read_rows(file: int, path: str, column: str) -> Iterator[SourceLine]:
    """Yields the rows of a Parquet file or of JSON lines."""
    with open(path, "rb") as stream:
        is_parquet = stream.read(len(_PARQUET)) == _PARQUET
    if is_parquet:
        yield from _parquet_rows(file, path, column)
        return
    lines = enumerate(positioned_lines(path, keep_blank=True), start=1)
    for number, (position, line) in lines:
        if line and not line.isspace():
            where = f"{path}: line {number}"
            row = parse_json_object(line.encode(), where)
            yield SourceLine(file, position, _cell(row, column, where), where)


def _parquet_rows(file: int, path: str, column: str) -> Iterator[SourceLine]:
    parquet = import_extra("pyarrow.parquet", "Reading Parquet", "parquet")
    size, number = os.path.getsize(path), 0
    with reading(path):
        table = parquet.ParquetFile(path)
        _cell(dict.fromkeys(table.schema_arrow.names), column, path)
        batches = table.iter_batches(_PARQUET_ROWS, columns=[column])
    while True:
        with reading(path):
            batch = next(batches, None)
            if batch is None:
                return
            values = batch.column(0).to_pylist()
        for value in values:
            position = size * number // table.metadata.num_rows
            number += 1
            yield SourceLine(file, position, value, f"{path}: row {number}")


def _cell(row: object, column: str, where: str) -> object:
    if not isinstance(row, Mapping):
        raise _wrong(where, "a row with named columns", row)
    if column not in row:
        names = ", ".join(map(str, row))
        raise ValueError(f"{where}: lacks the column {column}; it has {names}")
    return row[column]


def _tokens(value: object, where: str) -> list[bytes]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise _wrong(where, "a list of tokens, as the first row is", value)
    tokens = []
    for token in value:
        try:
            token = token.encode() if isinstance(token, str) else token
            if not isinstance(token, bytes) or not token.decode():
                raise ValueError
        except ValueError:
            raise _wrong(where, "tokens in UTF-8, none empty", token) from None
        if any(end in token for end in _LINE_ENDS):
            raise _wrong(where, "tokens without line ends and NULs", token)
        tokens.append(token)
    return tokens


def _wrong(where: str, rule: str, value: object) -> ValueError:
    return ValueError(f"{where} must be {rule}. Received: {reprlib.repr(value)}")


def names_and_sizes(paths: list[str]) -> NamesAndSizes:
    """Returns each file's name and bytes; without folders, which may change."""
    return [
        [json_path(os.path.basename(path)), os.path.getsize(path)] for path in paths
    ]


def json_path(path: StrPath) -> str:
    """Returns a path as JSON can hold it: Linux allows names that are not UTF-8."""
    return os.fsencode(path).decode(errors="backslashreplace")
