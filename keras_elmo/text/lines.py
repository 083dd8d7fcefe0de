"""Text files to lines, one at a time."""

import glob
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import BinaryIO, TypeGuard, cast

from keras_elmo.text.stats import CorpusStats

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def is_text(corpus: object) -> TypeGuard[Files]:
    """Whether a corpus is given as paths or patterns of text files."""
    if isinstance(corpus, str | os.PathLike):
        return True
    return isinstance(corpus, list | tuple) and all(
        isinstance(item, str | os.PathLike) for item in corpus
    )


def expand_files(files: Files) -> list[str]:
    """Returns the paths that `files` stands for, sorted, each once.

    Args:
        files: a path or a glob pattern (`**` goes through folders), or several.

    Raises:
        ValueError: no file matches one of them.
    """
    patterns = [files] if isinstance(files, str | os.PathLike) else list(files)
    if not patterns:
        raise ValueError("`files` must name a file. Received: files=[]")
    return sorted({path for pattern in patterns for path in _matches(pattern)})


def _matches(pattern: str | os.PathLike[str]) -> list[str]:
    pattern = os.path.expanduser(os.fspath(pattern))
    # A file's own name may hold the characters of a pattern.
    found = [pattern] if os.path.isfile(pattern) else glob.glob(pattern, recursive=True)
    paths = [path for path in found if os.path.isfile(path)]
    if not paths:
        hint = " (it is a folder: add /*)" if os.path.isdir(pattern) else ""
        raise ValueError(f"no file matches {pattern}{hint}")
    return paths


def read_lines(
    files: Iterable[str],
    report: CorpusStats | None = None,
    advance: Callable[[int], None] | None = None,
    keep_blank: bool = False,
    open_file: Callable[[str], BinaryIO] | None = None,
) -> Iterator[str]:
    """Yields the lines of text files that are not blank, without their ends.

    A line ends at LF or CR LF and nowhere else. Invalid UTF-8 is replaced by U+FFFD,
    a NUL by a space; a byte order mark at the start of a file is dropped.

    Args:
        files: paths, read in the order given; `.gz` and `.xz` are decompressed.
        report: counts what is read.
        advance: called now and then with the number of bytes of the files, as they
            lie on the disk, that were read since the call before.
        keep_blank: whether blank lines are yielded, too, so that a line's place is
            its number.
        open_file: opens what is not a file of this machine, as it lies there.

    Raises:
        ValueError: a compressed file is cut short or damaged; names the file.
    """
    report = CorpusStats() if report is None else report
    for path in files:
        for raw in _raw_lines(path, advance or _ignore, open_file or _open):
            line = _decode(raw.removesuffix(b"\n").removesuffix(b"\r"), report)
            blank = not line or line.isspace()
            report.lines += not blank
            if keep_blank or not blank:
                yield line


def _ignore(count: int) -> None:
    pass


def _open(path: str) -> BinaryIO:
    return open(path, "rb")


def _raw_lines(
    path: str,
    advance: Callable[[int], None],
    open_file: Callable[[str], BinaryIO],
) -> Iterator[bytes]:
    with open_file(path) as file, _decompressed(file, path) as stream:
        told, mark = 0, BYTE_ORDER_MARK
        try:
            for raw in stream:
                yield raw.removeprefix(mark)
                mark = b""
                position = file.tell()
                if position != told:
                    advance(position - told)
                    told = position
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise ValueError(f"{path}: cut short or damaged: {error}") from error


def _decompressed(file: BinaryIO, path: str) -> BinaryIO:
    if path.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if path.endswith(".xz"):
        return cast(BinaryIO, lzma.LZMAFile(file))
    return file


def _decode(raw: bytes, report: CorpusStats) -> str:
    if b"\0" in raw:
        report.lines_with_nul += 1
        raw = raw.replace(b"\0", b" ")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        report.invalid_lines += 1
        return raw.decode(errors="replace")


class Shard:
    """The lines of a file, one at a time, and how far it is read.

    Args:
        path: a text file, as `read_lines` takes it.
        report: counts what is read.
        first: the first line to yield, from 0.
        every: the distance of the lines to yield.

    Attributes:
        share_read: of the bytes of the file as it lies on the disk, 0 to 1.
    """

    def __init__(
        self, path: str, report: CorpusStats, first: int = 0, every: int = 1
    ) -> None:
        # Of an empty file nothing is ever read.
        self._size = max(1, os.path.getsize(path))
        self._lines = islice(
            read_lines([path], report, self._advance), first, None, every
        )
        self.share_read = 0.0

    def _advance(self, count: int) -> None:
        self.share_read += count / self._size

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._lines)
