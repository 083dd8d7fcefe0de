"""Reads and writes files on a shared disk or in an object store."""

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from keras_elmo.embedding.parts import Manifest, check_manifest
from keras_elmo.text.lines import (
    Files,
    check_files,
    expand_files,
    read_lines,
    read_patterns,
)
from keras_elmo.utils.files import parse_json_object, remove_leftovers, replacing

# A minute or less of a worker's time, which is what its death costs.
_CHUNK_LINES = 1024

_BYTES = "application/octet-stream", CompressionTypes.UNCOMPRESSED


def is_local(path: str) -> bool:
    """Whether a file is on a disk, and not in an object store."""
    return "://" not in path


def absolute(path: str | os.PathLike[str]) -> str:
    """Returns a path that workers with another working folder find."""
    path = os.fspath(path)
    return os.path.abspath(path) if is_local(path) else path


def match_files(files: Files) -> dict[str, int]:
    """Returns the paths that match patterns, sorted, with the sizes of the files."""
    sizes: dict[str, int] = {}
    for pattern in read_patterns(files):
        if is_local(pattern):
            paths = expand_files(pattern)
            sizes |= {absolute(path): os.path.getsize(path) for path in paths}
            continue
        (match,) = FileSystems.match([pattern])
        if not match.metadata_list:
            raise ValueError(f"no file matches {pattern!r}")
        sizes |= {file.path: file.size_in_bytes for file in match.metadata_list}
    return dict(sorted(sizes.items()))


def open_file(path: str) -> BinaryIO:
    """Opens a file for reading, without decompressing it."""
    return cast(BinaryIO, FileSystems.open(path, *_BYTES))


def remove_unfinished(folder: str) -> None:
    """Removes the unfinished files of killed workers from a folder's folders."""
    if is_local(folder):
        for entry in os.scandir(folder):
            if entry.is_dir():
                remove_leftovers(entry.path)


def write_whole(path: str, write: Callable[[str], object]) -> None:
    """Writes a file whole or not at all; `write` writes to a local path."""
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


def begin(path: str, manifest: Manifest, folder: str) -> None:
    """Writes what the parts in a folder are made from, or raises if that differs."""
    if not FileSystems.exists(path):
        content = json.dumps(manifest, indent=2, ensure_ascii=False)
        write_whole(path, lambda local: Path(local).write_text(content, "utf-8"))
        return
    with open_file(path) as file:
        check_manifest(parse_json_object(file.read(), path), manifest, folder)


@dataclasses.dataclass(frozen=True)
class TextChunk:
    """Lines of a file, blank ones included; `first_line` counts from 0."""

    path: str
    first_line: int
    lines: list[str]


def read_chunks(path: str) -> Iterator[TextChunk]:
    """Yields the pieces of a file; the same file gives the same pieces."""
    if not is_local(path):
        # `match_files` has checked local ones.
        check_files({path: path}, open_file)
    lines = read_lines([path], keep_blank=True, open_file=open_file)
    first_line = 0
    while chunk := list(islice(lines, _CHUNK_LINES)):
        yield TextChunk(path, first_line, chunk)
        first_line += len(chunk)
