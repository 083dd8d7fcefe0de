"""Files that all workers see, on a shared disk or in an object store."""

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO, cast

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from keras_elmo.text.lines import (
    Files,
    check_files,
    expand_files,
    patterns_of,
    read_lines,
)
from keras_elmo.utils.files import remove_leftovers, replacing

# A minute or less of a worker's time, which is what its death costs.
_CHUNK_LINES = 1024

_BYTES = "application/octet-stream", CompressionTypes.UNCOMPRESSED


def is_local(path: str) -> bool:
    """Whether a file is on a disk, and not in an object store."""
    return "://" not in path


def absolute(path: str | os.PathLike[str]) -> str:
    """Returns a name by which a worker that stands in another folder finds a file."""
    path = os.fspath(path)
    return os.path.abspath(path) if is_local(path) else path


def match_files(files: Files) -> dict[str, int]:
    """Returns the files that patterns stand for, sorted, with their sizes.

    Raises:
        ValueError: no file matches one of the patterns.
    """
    sizes: dict[str, int] = {}
    for pattern in patterns_of(files):
        if is_local(pattern):
            paths = expand_files(pattern)
            sizes |= {absolute(path): os.path.getsize(path) for path in paths}
            continue
        (match,) = FileSystems.match([pattern])
        if not match.metadata_list:
            raise ValueError(f"no file matches {pattern}")
        sizes |= {file.path: file.size_in_bytes for file in match.metadata_list}
    return dict(sorted(sizes.items()))


def open_file(path: str) -> BinaryIO:
    """Opens a file for reading, as it lies there."""
    return cast(BinaryIO, FileSystems.open(path, *_BYTES))


def remove_unfinished(folder: str) -> None:
    """Removes what workers were writing to a folder's folders when they were killed."""
    if is_local(folder):
        for entry in os.scandir(folder):
            if entry.is_dir():
                remove_leftovers(entry.path)


def write_whole(path: str, write: Callable[[str], object]) -> None:
    """Has a file written under another name; it appears whole or not at all.

    Args:
        path: the file; one that stands there is replaced.
        write: writes a file of this machine, given its name.
    """
    if is_local(path):
        with replacing(path) as temporary:
            write(temporary)
        return
    # An object appears when it is closed.
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "part")
        write(local)
        with open(local, "rb") as source, FileSystems.create(path, *_BYTES) as target:
            shutil.copyfileobj(source, target)


@dataclasses.dataclass(frozen=True)
class TextChunk:
    """Some lines of a file, and where they stand in it.

    Attributes:
        path: of the file.
        first_line: the number of the first line, counted from 0.
        lines: with the blank ones.
    """

    path: str
    first_line: int
    lines: list[str]


def read_chunks(path: str) -> Iterator[TextChunk]:
    """Yields the pieces of a file; the same file gives the same pieces."""
    if not is_local(path):
        # Others were checked when their names were found.
        check_files({path: path}, open_file)
    lines = read_lines([path], keep_blank=True, open_file=open_file)
    first_line = 0
    while chunk := list(islice(lines, _CHUNK_LINES)):
        yield TextChunk(path, first_line, chunk)
        first_line += len(chunk)
