"""Writes files as a whole or not at all, and reads JSON strictly."""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any, TextIO

from keras_elmo.utils.checks import most_similar
from keras_elmo.utils.types import StrPath

_PART = ".part"
# Numbers of errors that name no file, but say that one could not be written.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def replacing(path: StrPath) -> Iterator[str]:
    """Yields a temporary name to write to, which is renamed to `path` at the end.

    A file replaces a file, a folder replaces a folder, and links are followed. Files
    are synced to the disk before the renaming, so that a crash leaves no empty file. If
    the block raises, `path` stays and the temporary file is removed.

    A folder takes two renamings. A process that is killed between them leaves the
    former folder under a hidden name that ends in `.part.old`. An `OSError` names
    `path`, or the file within it, as the caller named it.
    """
    name, path = os.fspath(path), os.path.realpath(path)
    parent = os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    temporary = _temporary(path)
    try:
        yield temporary
        _to_disk(temporary)
        if os.path.isdir(temporary) and os.path.isdir(path):
            # A folder that has files cannot be replaced by renaming.
            old = f"{temporary}.old"
            os.rename(path, old)
            try:
                os.rename(temporary, path)
            except BaseException:
                os.rename(old, path)
                raise
            shutil.rmtree(old)
        else:
            os.replace(temporary, path)
    except Exception as error:
        if (named := _name_path(name, temporary, error)) is None:
            raise
        raise named from error
    finally:
        _remove(temporary)


@contextlib.contextmanager
def replacing_text(path: StrPath) -> Iterator[TextIO]:
    """Yields a UTF-8 file to write, which is renamed to `path` at the end."""
    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            yield file


def _name_path(path: str, temporary: str, error: Exception) -> OSError | None:
    """Returns an error that names `path`, or `None` if it is about another file."""
    if not isinstance(error, OSError) or error.errno is None:
        # TensorFlow's errors, and some of h5py's, name files only in their messages.
        message = str(error)
        file, separator, reason = message.partition("; ")
        if separator and temporary in file:
            # TensorFlow puts the reason between its own words.
            why = reason.partition(" [Op:")[0]
            return OSError(f"{path}: cannot be written: {why}")
        if temporary in message:
            return OSError(message.replace(temporary, path))
        if message.endswith(" written"):
            # NumPy, when the disk took only part of an array.
            return OSError(errno.ENOSPC, f"cannot be written: {message}", path)
        return None
    name, reason = error.filename, error.strerror or ""
    if name is None and error.errno in NO_ROOM:
        name, reason = temporary, f"cannot be written: {os.strerror(error.errno)}"
    if isinstance(name, str) and name.startswith(temporary):
        return OSError(error.errno, reason, path + name.removeprefix(temporary))
    if temporary in reason:
        return OSError(error.errno, reason.replace(temporary, path), name)
    return None


def _to_disk(path: str) -> None:
    """Waits until a file, or every file of a folder, is on the disk."""
    paths = [path] if os.path.isfile(path) else []
    for folder, _, names in os.walk(path):
        paths += [os.path.join(folder, name) for name in names]
    for file_path in paths:
        with open(file_path, "rb") as file:
            os.fsync(file.fileno())


def _temporary(path: str) -> str:
    # Process ids would not do: two machines may write to one folder.
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{secrets.token_hex(4)}{_PART}")


def is_free(path: StrPath) -> bool:
    """Whether a path does not exist or is an empty folder."""
    is_empty = os.path.isdir(path) and not os.listdir(path)
    return is_empty or not os.path.exists(path)


def check_free(path: StrPath) -> None:
    """Raises unless a path can be written without replacing anything."""
    if not is_free(path):
        raise ValueError(
            f"{os.fspath(path)} exists already; name another, or remove it"
        )
    check_parent(path)


def check_parent(path: StrPath) -> None:
    """Raises `OSError` unless files and folders can be made where a path is."""
    parent = os.path.dirname(os.path.realpath(path))
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    number = errno.EACCES if os.path.isdir(parent) else errno.ENOTDIR
    if number == errno.ENOTDIR or not os.access(parent, os.W_OK | os.X_OK):
        raise OSError(number, os.strerror(number), os.fspath(path))


def check_room(path: StrPath, size: int) -> None:
    """Raises `OSError` if the disk has no room for a file of `size` bytes at `path`."""
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        raise OSError(
            error.errno, f"cannot be written: {error.strerror}", path
        ) from error
    finally:
        _remove(temporary)


def is_leftover(name: str) -> bool:
    """Whether a name is one that `replacing` yields."""
    return name.startswith(".") and name.endswith(_PART)


def remove_leftovers(folder: StrPath) -> None:
    """Removes the files that killed processes were writing to a folder."""
    if not os.path.isdir(folder):
        return
    for name in filter(is_leftover, os.listdir(folder)):
        _remove(os.path.join(folder, name))


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def file_hash(path: StrPath) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# The manifest of a run with 100,000 files has 8 MB. Parsed JSON takes up to 20 times as
# much memory.
_MAX_JSON_BYTES = 1 << 24


def _plain(value: object) -> object:
    """Returns a number of NumPy as one of Python."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{value!r} cannot be written as JSON")


def write_json(path: StrPath, value: object) -> None:
    """Writes a value as indented JSON, or raises if it would be too large to read."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_plain) + "\n"
    if (size := len(text.encode())) > _MAX_JSON_BYTES:
        raise ValueError(
            f"{os.fspath(path)}: must have at most {_MAX_JSON_BYTES:,} bytes, and "
            f"would have {size:,}"
        )
    with replacing_text(path) as file:
        file.write(text)


def read_json_object(path: StrPath) -> dict[str, Any]:
    """Returns the object in a JSON file; errors name the file."""
    where = os.fspath(path)
    if os.path.exists(where) and not os.path.isfile(where):
        # Reading a pipe would wait.
        raise ValueError(f"{where}: must be a file")
    with open(where, "rb") as file:
        content = file.read(_MAX_JSON_BYTES + 1)
    if len(content) > _MAX_JSON_BYTES:
        raise ValueError(f"{where}: must have at most {_MAX_JSON_BYTES:,} bytes")
    return parse_json_object(content, where)


def parse_json_object(content: bytes, where: str) -> dict[str, Any]:
    """Returns the object in bytes of JSON; errors begin with `where`."""
    try:
        value = json.loads(content, object_pairs_hook=_unique_keys)
    except ValueError as error:
        raise ValueError(f"{where}: not valid JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{where}: not valid JSON: nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be a JSON object, not {_shorten(value)}")
    return value


def read_key(value: object, where: str, *keys: str, **fallback: object) -> Any:
    """Returns the value under nested keys, or `default`.

    Raises `ValueError` without a default, or if the key seems to be misspelt.
    """
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            names = map(str, value) if isinstance(value, Mapping) else ()
            misspelt = most_similar(key, names)
            if "default" in fallback and not misspelt:
                return fallback["default"]
            instead = f". Received: {misspelt}" if misspelt else ""
            raise ValueError(f"{where}: lacks the key {'.'.join(keys)}{instead}")
        value = value[key]
    return value


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuses repeated keys: some programs read the first, some the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {_shorten(key)} comes twice")
    return value


def _shorten(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 50 else f"{text[:50]} ..."
