"""Text files to lines."""

import glob
import gzip
import io
import lzma
import os
import reprlib
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from itertools import islice
from typing import Any, BinaryIO, TypeGuard, cast

from keras_elmo.text.file_kinds import check_start
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.types import StrPath

Files = StrPath | Iterable[StrPath]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Whether files are read that do not look like text.
READ_ANYTHING = ContextVar("READ_ANYTHING", default=False)
# Bytes of a file that show whether it is text.
_CHECKED_BYTES = 1 << 16


def is_text(corpus: object) -> TypeGuard[Files]:
    """Whether a corpus is given as paths or patterns of text files."""
    items = corpus if isinstance(corpus, list | tuple | set | frozenset) else [corpus]
    return all(isinstance(item, str | os.PathLike) for item in items)


def expand_files(files: Files) -> list[str]:
    """Returns the paths of text that match `files`, sorted, each once.

    Warns of those that look like text but not like sentences.

    Args:
        files: a path or a glob pattern (`**` matches folders), or several.

    Raises:
        ValueError: no file matches one of them, or one is not text in UTF-8.
    """
    patterns: list[Any] = [files]
    if isinstance(files, Iterable) and not isinstance(files, str | os.PathLike):
        patterns = list(files)
    if not all(isinstance(pattern, str | os.PathLike) for pattern in patterns):
        raise TypeError(
            "`files` must be a path or glob pattern, or several. "
            f"Received: files={reprlib.repr(files)}"
        )
    if not patterns:
        raise ValueError("`files` must name a file. Received: files=[]")
    paths = sorted({path for pattern in patterns for path in _matches(pattern)})
    check_files(dict(zip(paths, paths, strict=True)))
    return paths


def check_files(
    names: Mapping[str, str],
    open_file: Callable[[str], BinaryIO] = lambda path: open(path, "rb"),
) -> None:
    """Refuses files that are not text in UTF-8, and warns of those without sentences.

    Args:
        names: of the files, for messages, by their paths.
        open_file: opens files that are not local.

    Raises:
        ValueError: see `check_start`.
    """
    if READ_ANYTHING.get():
        return
    by_form: dict[str, list[str]] = {}
    for path, name in names.items():
        if form := _form(path, name, open_file):
            by_form.setdefault(form, []).append(name)
    for form, (first, *others) in by_form.items():
        files = f"{first} and {len(others):,} more" if others else first
        warnings.warn(f"{files}: {form}", stacklevel=3)


def _matches(pattern: StrPath) -> list[str]:
    pattern = os.path.expanduser(os.fspath(pattern))
    # The name of a file may contain the characters of a pattern.
    found = [pattern] if os.path.isfile(pattern) else glob.glob(pattern, recursive=True)
    paths = [path for path in found if os.path.isfile(path)]
    if not paths:
        hint = " (it is a folder: add /*)" if os.path.isdir(pattern) else ""
        raise ValueError(f"no file matches {pattern}{hint}")
    return paths


def _form(path: str, name: str, open_file: Callable[[str], BinaryIO]) -> str | None:
    with open_file(path) as file, _decompressed(file, path) as stream:
        try:
            start = stream.read(_CHECKED_BYTES)
            is_whole = not stream.read(1)
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise ValueError(f"{path}: cut short or damaged: {error}") from error
    return check_start(start, name, is_whole)


def read_lines(
    files: Iterable[str],
    stats: CorpusStats | None = None,
    advance: Callable[[int], object] = lambda count: None,
    keep_blank: bool = False,
    open_file: Callable[[str], BinaryIO] = lambda path: open(path, "rb"),
) -> Iterator[str]:
    """Yields the lines of text files, without their ends.

    A line ends at LF or CR LF and nowhere else. Invalid UTF-8 is replaced by U+FFFD,
    a NUL by a space; a byte order mark at the start of a file is dropped.

    Args:
        files: paths, read in the order given; `.gz` and `.xz` are decompressed.
        stats: counts the lines.
        advance: called now and then with the number of bytes, compressed if the file
            is, that were read since the call before.
        keep_blank: whether blank lines are yielded, too.
        open_file: opens files that are not local.

    Raises:
        ValueError: a compressed file is cut short or damaged; names the file.
    """
    stats = CorpusStats() if stats is None else stats
    for path in files:
        for raw in _raw_lines(path, advance, open_file):
            line = _decode(raw.removesuffix(b"\n").removesuffix(b"\r"), stats)
            blank = not line or line.isspace()
            stats.lines += not blank
            if keep_blank or not blank:
                yield line


def _raw_lines(
    path: str, advance: Callable[[int], object], open_file: Callable[[str], BinaryIO]
) -> Iterator[bytes]:
    with open_file(path) as file, _decompressed(file, path) as stream:
        reported, mark = 0, BYTE_ORDER_MARK
        try:
            for raw in stream:
                yield raw.removeprefix(mark)
                mark = b""
                position = file.tell()
                if position != reported:
                    advance(position - reported)
                    reported = position
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise ValueError(f"{path}: cut short or damaged: {error}") from error


class _ShortReads:
    """Reads little at a time, so that the file's position is near that of the line.

    Python's gzip reads 128 KiB from version 3.12 on, 8 KiB before.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, io.DEFAULT_BUFFER_SIZE))


def _decompressed(file: BinaryIO, path: str) -> BinaryIO:
    if path.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=cast(BinaryIO, _ShortReads(file))))
    if path.endswith(".xz"):
        return cast(BinaryIO, lzma.LZMAFile(file))
    return file


def _decode(raw: bytes, stats: CorpusStats) -> str:
    if b"\0" in raw:
        stats.lines_with_nul += 1
        raw = raw.replace(b"\0", b" ")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        stats.invalid_lines += 1
        return raw.decode(errors="replace")


class Shard:
    """An iterator of the lines of a file, or of every n-th line.

    Args:
        path: a text file, as `read_lines` takes it.
        stats: counts the lines.
        first: index of the first line to yield.
        every: distance of the lines to yield.

    Attributes:
        fraction_read: of the bytes of the file, 0 to 1.
    """

    def __init__(
        self, path: str, stats: CorpusStats, first: int = 0, every: int = 1
    ) -> None:
        # At least one byte, to divide by.
        self._size = max(1, os.path.getsize(path))
        lines = read_lines([path], stats, self._advance)
        self._lines = islice(lines, first, None, every)
        self.fraction_read = 0.0

    def _advance(self, count: int) -> None:
        self.fraction_read += count / self._size

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._lines)
