"""Outputs appear whole or not at all."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yields a name beside `path` to write to; renames it to `path` at the end.

    A file that stands at `path` is replaced by a file, a folder by a folder; a link is
    followed. If the body raises, `path` stays as it was and what was written is
    removed.
    """
    path = os.path.realpath(path)
    parent = os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    temporary = os.path.join(parent, f".{os.path.basename(path)}.{os.getpid()}.part")
    try:
        yield temporary
        if os.path.isdir(temporary) and os.path.isdir(path):
            # A folder cannot be renamed onto one that holds something.
            old = f"{temporary}.old"
            os.rename(path, old)
            os.rename(temporary, path)
            shutil.rmtree(old)
        else:
            os.replace(temporary, path)
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
        elif os.path.exists(temporary):
            os.remove(temporary)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes a value as indented JSON."""
    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2, ensure_ascii=False)
            file.write("\n")
