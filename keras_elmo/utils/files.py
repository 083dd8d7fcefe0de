"""Outputs appear whole or not at all."""

import contextlib
import errno
import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

from keras_elmo.utils.types import StrPath

_PART = ".part"
# Of an error that names no file, these say that one could not be written.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yields a name beside `path` to write to; renames it to `path` at the end.

    A file that stands at `path` is replaced by a file, a folder by a folder; a link is
    followed. Files are on the disk before they get their names, so that a machine that
    is lost leaves none that is named but empty. If the body raises, `path` stays as it
    was and what was written is removed.

    A process that is killed between the two renames of a folder leaves the one that
    stood there beside it, hidden, in a name that ends in `.part.old`.

    Raises:
        OSError: something cannot be written; names `path`, or the file within it, as
            the caller named it.
    """
    given, path = os.fspath(path), os.path.realpath(path)
    parent = os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    temporary = _temporary(path)
    try:
        yield temporary
        _to_disk(temporary)
        if os.path.isdir(temporary) and os.path.isdir(path):
            # A folder cannot be renamed onto one that holds something.
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
        if (named := _error_of(given, temporary, error)) is None:
            raise
        raise named from error
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
        elif os.path.exists(temporary):
            os.remove(temporary)


@contextlib.contextmanager
def replacing_text(path: StrPath) -> Iterator[TextIO]:
    """Yields a UTF-8 file to write, which is renamed to `path` at the end."""
    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            yield file


def _error_of(path: str, temporary: str, error: Exception) -> OSError | None:
    """Returns an error with `path` for its hidden part; `None` if it names no part."""
    if not isinstance(error, OSError) or error.errno is None:
        # TensorFlow's errors, and some of h5py's, name files in their message alone.
        message = str(error)
        return (
            OSError(message.replace(temporary, path)) if temporary in message else None
        )
    name, reason = error.filename, error.strerror or ""
    if name is None and error.errno in _NO_ROOM:
        name, reason = temporary, f"cannot be written: {os.strerror(error.errno)}"
    if isinstance(name, str) and name.startswith(temporary):
        return OSError(error.errno, reason, path + name.removeprefix(temporary))
    if temporary in reason:
        return OSError(error.errno, reason.replace(temporary, path), name)
    return None


def _to_disk(path: str) -> None:
    """Has a file, or every file of a folder, written out."""
    paths = [path] if os.path.isfile(path) else []
    paths += [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
    ]
    for each in paths:
        with open(each, "rb") as file:
            os.fsync(file.fileno())


def _temporary(path: str) -> str:
    # Processes of two machines may write to one folder, and have the same number.
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{secrets.token_hex(4)}{_PART}")


def check_room(path: str | os.PathLike[str], size: int) -> None:
    """Makes sure that a file of some bytes can be written beside `path`.

    Raises:
        OSError: it cannot; names `path`.
    """
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            reserve(file.fileno(), size)
    except OSError as error:
        raise OSError(
            error.errno, f"cannot be written: {error.strerror}", path
        ) from error
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def reserve(file: int, size: int) -> None:
    """Takes room on the disk for an open file, where the system knows how.

    Raises:
        OSError: there is none.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)


def is_leftover(name: str) -> bool:
    """Whether a name is one that `replacing` had yielded."""
    return name.startswith(".") and name.endswith(_PART)


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Removes what a process was writing to a folder when it was killed."""
    if not os.path.isdir(folder):
        return
    for name in filter(is_leftover, os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes a value as indented JSON."""
    with replacing_text(path) as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")


def lock(descriptor: int) -> bool:
    """Takes an open file or folder for this process, until it is closed.

    The system lets go of it however the process ends.

    Args:
        descriptor: of the file or folder.

    Returns:
        Whether it could be taken: not while another process holds it. Where the system
        or the disk knows no locks, nothing is held.
    """
    try:
        import fcntl
    except ImportError:
        # Windows has none.
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A network's disk, perhaps.
        pass
    return True


# Of a recipe that names 100,000 files there are 8 MB. What is parsed takes up to 20
# times as much memory.
_MOST_BYTES = 1 << 24


def read_json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the object that a JSON file holds.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no file, too large, or as `parse_json_object` has it.
    """
    where = os.fspath(path)
    if os.path.exists(where) and not os.path.isfile(where):
        # A pipe would be waited for.
        raise ValueError(f"{where}: must be a file")
    with open(where, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{where}: must have at most {_MOST_BYTES:,} bytes")
    return parse_json_object(content, where)


def parse_json_object(content: bytes, where: str) -> dict[str, Any]:
    """Returns the object that some bytes of JSON are.

    Args:
        content: the bytes.
        where: where they stand, for an error to name.

    Raises:
        ValueError: they are no JSON, something else than an object, nested deeper than
            Python can go, or name a key twice.
    """
    try:
        value = json.loads(content, object_pairs_hook=_distinct)
    except ValueError as error:
        raise ValueError(f"{where}: not valid JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{where}: not valid JSON: nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be a JSON object, not {_start_of(value)}")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Programs that read the file take the first value, or the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {_start_of(twice)} stands there twice")
    return value


def _start_of(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 50 else f"{text[:50]} ..."
