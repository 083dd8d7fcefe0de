"""Text files to lines."""

import contextlib
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
from itertools import chain, count
from typing import Any, BinaryIO, NoReturn, TypeAlias, TypeGuard, cast

from keras_elmo.text.file_kinds import check_start
from keras_elmo.text.stats import CorpusStats
from keras_elmo.utils.checks import check_type, refuse
from keras_elmo.utils.types import StrPath

Files = StrPath | Iterable[StrPath]
# Opens a file for reading bytes, as they are stored.
Opener: TypeAlias = Callable[[str], BinaryIO]
# A line and its number, from 1 on.
Line: TypeAlias = tuple[int, str]

# A prepared text has this file.
MANIFEST = "manifest.json"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Whether files are read that do not look like text.
READ_ANYTHING = ContextVar("READ_ANYTHING", default=False)
# In bytes; a longer one is a sign of a file that is no vocabulary.
_LONGEST_LINE = 1 << 24
# Bytes of a file that show whether it is text.
_CHECKED_BYTES = 1 << 16


def _open(path: str) -> BinaryIO:
    return open(path, "rb")


def are_files(corpus: object, argument: str = "corpus") -> TypeGuard[Files]:
    """Whether a corpus is given as paths or patterns of text files."""
    items = corpus if isinstance(corpus, list | tuple | set | frozenset) else [corpus]
    if not items:
        refuse(argument, "a file or a sentence at least", corpus)
    return all(isinstance(item, str | os.PathLike) for item in items)


def expand_files(files: Files, of_sentences: bool = True) -> list[str]:
    """Returns the paths of text files that match `files`, sorted, each once.

    In a pattern, `**` matches folders. Warns of text that does not look like sentences,
    if it has to be `of_sentences`.
    """
    paths = matching_files(files)
    check_files(dict(zip(paths, paths, strict=True)), of_sentences=of_sentences)
    return paths


def matching_files(files: Files) -> list[str]:
    """Returns what `expand_files` does, whatever the files hold."""
    return sorted({path for x in read_patterns(files) for path in _matches(x)})


def read_patterns(files: Files) -> list[str]:
    """Returns paths and patterns as strings, or raises an error."""
    patterns: list[Any] = [files]
    if isinstance(files, Iterable) and not isinstance(files, str | os.PathLike):
        patterns = list(files)
    for pattern in patterns:
        rule = "a path or glob pattern, or several"
        check_type((str, os.PathLike), rule, files=pattern)
    if not patterns:
        refuse("files", "a path or glob pattern, or several", files)
    return [os.fspath(pattern) for pattern in patterns]


def check_files(
    names: Mapping[str, str],
    open_file: Opener = _open,
    of_sentences: bool = True,
) -> None:
    """Refuses files that are not UTF-8 text, and warns of text without sentences.

    `names` maps the paths that `open_file` opens to the names that messages use.
    """
    if READ_ANYTHING.get():
        return
    by_form: dict[str, list[str]] = {}
    for path, name in names.items():
        form = form_of(path, name, open_file)
        if form and of_sentences:
            by_form.setdefault(form, []).append(name)
    for form, (first, *others) in by_form.items():
        files = f"{first} and {len(others):,} more" if others else first
        warnings.warn(f"{files}: {form}", stacklevel=3)


def is_pipe(path: str) -> bool:
    """Whether a path is a pipe or a device: `/dev/null`, or a shell's `<(command)`."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def _matches(pattern: str) -> list[str]:
    pattern = os.path.expanduser(pattern)
    # The name of a file may contain the characters of a pattern.
    paths = [pattern]
    if not os.path.isfile(pattern):
        paths = [*filter(os.path.isfile, glob.glob(pattern, recursive=True))]
    if not paths:
        hint = " (it is a folder: add /*)" if os.path.isdir(pattern) else ""
        if is_prepared(pattern):
            hint = " (it is a prepared text, which pretraining and evaluation read)"
        if is_pipe(pattern):
            raise ValueError(f"{pattern} must be a file, not a pipe or a device")
        raise ValueError(f"no file matches {pattern!r}{hint}")
    return paths


def form_of(
    path: str, name: str | None = None, open_file: Opener = _open
) -> str | None:
    """Returns what `check_start` says of a file, which messages call `name`."""
    with _opened(path, open_file) as (_, stream):
        start = stream.read(_CHECKED_BYTES)
        is_whole = not stream.read(1)
    return check_start(start, name or path, is_whole)


@contextlib.contextmanager
def _opened(path: str, open_file: Opener) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yields a file, and its decompressed content; names one that is damaged."""
    with open_file(path) as file:
        stream = file
        if path.endswith(".gz"):
            short_reads = cast(BinaryIO, _ShortReads(file))
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=short_reads))
        elif path.endswith(".xz"):
            stream = cast(BinaryIO, lzma.LZMAFile(file))
        try:
            yield file, stream
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise ValueError(f"{path}: cut short or damaged: {error}") from error


def read_lines(
    files: Iterable[str],
    stats: CorpusStats | None = None,
    keep_blank: bool = False,
    open_file: Opener = _open,
) -> Iterator[str]:
    """Yields the lines of text files, without their ends.

    A line ends at LF or CR LF and nowhere else. Invalid UTF-8 is replaced by U+FFFD, a
    NUL by a space; a byte order mark at the start of a file is dropped. `.gz` and `.xz`
    are decompressed; a `ValueError` names one that is cut short or damaged.
    """
    for path in files:
        for _, line in positioned_lines(path, stats, keep_blank, open_file):
            yield line


def positioned_lines(
    path: str,
    stats: CorpusStats | None = None,
    keep_blank: bool = False,
    open_file: Opener = _open,
) -> Iterator[tuple[int, str]]:
    """Yields the lines of a file, each after the number of stored bytes before it.

    Takes the arguments of `read_lines`.
    """
    stats = CorpusStats() if stats is None else stats
    position, mark = 0, BYTE_ORDER_MARK
    with _opened(path, open_file) as (file, stream):
        for raw in stream:
            line = _decode(raw.removeprefix(mark), stats)
            if keep_blank or not _is_blank(line):
                yield position, line
            mark = b""
            position = file.tell()


def text_lines(
    raw_lines: Iterable[bytes], stats: CorpusStats, keep_blank: bool = False
) -> Iterator[str]:
    """Yields lines as `read_lines` does, and takes its arguments."""
    lines = (_decode(raw, stats) for raw in raw_lines)
    return (line for line in lines if keep_blank or not _is_blank(line))


def _decode(raw: bytes, stats: CorpusStats) -> str:
    """Returns a line without its end; `stats` counts it, and what is replaced."""
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if b"\0" in raw:
        stats.lines_with_nul += 1
        raw = raw.replace(b"\0", b" ")
    try:
        line = raw.decode()
    except UnicodeDecodeError:
        stats.invalid_lines += 1
        line = raw.decode(errors="replace")
    stats.lines += not _is_blank(line)
    return line


def _is_blank(line: str) -> bool:
    return not line or line.isspace()


class _ShortReads:
    """Reads little at a time, so that the file's position is near the line.

    Python's gzip reads 128 KiB from version 3.12 on, 8 KiB before.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, io.DEFAULT_BUFFER_SIZE))


def strict_lines(path: str, stream: BinaryIO | None = None) -> Iterator[Line]:
    """Yields the lines of a file, blank ones included, with their numbers.

    With a `stream`, reads that; messages call it `path`. A line that is not UTF-8, or
    has a NUL or a CR, is a `ValueError`.
    """
    stats = CorpusStats()
    if stream is None:
        lines = read_lines([path], stats, keep_blank=True)
    else:
        first = stream.readline().removeprefix(BYTE_ORDER_MARK)
        lines = text_lines(chain([first] if first else [], stream), stats, True)
    for number, line in enumerate(lines, 1):
        if stats.invalid_lines or stats.lines_with_nul:
            refuse_line(path, number, "be UTF-8 text without NULs", line)
        if "\r" in line:
            rule = "hold no CR but at its end "
            rule += r"(`tr '\r' '\n'` converts old Macs' files)"
            refuse_line(path, number, rule, line)
        yield number, line


def refuse_line(path: str, number: int, rule: str, line: object) -> NoReturn:
    """Raises the `ValueError` of a line that breaks a rule."""
    shown = reprlib.repr(line)
    raise ValueError(f"{path}, line {number}: must {rule}. Received: {shown}")


def read_words(path: StrPath) -> Iterator[str]:
    """Yields the lines of a vocabulary; a `ValueError` names the line alone."""
    # Opening a pipe would block.
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError("must be a file")
    with open(path, "rb") as file:
        for number in count(1):
            line = file.readline(_LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > _LONGEST_LINE:
                raise ValueError(f"line {number} has more than {_LONGEST_LINE:,} bytes")
            if b"\0" in line:
                raise ValueError(f"line {number} must be a word without NULs")
            if number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"line {number} is not UTF-8: {error}") from error


def is_prepared(path: StrPath) -> bool:
    """Whether a path is a folder with a manifest, as `prepare` writes it."""
    return os.path.isfile(os.path.join(path, MANIFEST))


def prepared_folder(files: Files) -> str | None:
    """Returns the path of a prepared text, if `files` is one, alone."""
    # An iterator yields its files once.
    patterns = [] if isinstance(files, Iterator) else read_patterns(files)
    folders = list(filter(is_prepared, patterns))
    if folders and len(patterns) > 1:
        raise ValueError(
            f"{folders[0]} is a prepared text and must be given alone. "
            f"Received: {reprlib.repr(patterns)}"
        )
    return folders[0] if folders else None
