"""Turns any error about a damaged file into one that names it."""

import contextlib
import errno
import os
from collections.abc import Iterator

from keras_elmo.utils.types import StrPath

# Errors about impossible positions in a file, which is damaged.
_DAMAGE = (None, errno.EINVAL, errno.EOVERFLOW)
_LONGEST_REASON = 200


@contextlib.contextmanager
def reading(
    path: StrPath,
    problem: str = "cannot be read",
    error_class: type[ValueError] = ValueError,
) -> Iterator[None]:
    """Turns any error that a library raises about a file into one that names it.

    The error says `problem` before the library's reason. An `OSError` of the system
    stays one. Errors that name a file already pass.
    """
    where = os.fspath(path)
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        if isinstance(error, ValueError) and where in str(error):
            raise
        if isinstance(error, OSError) and error.filename is not None:
            raise
        number = error.errno if isinstance(error, OSError) else None
        if number not in _DAMAGE:
            raise OSError(number, os.strerror(number), where) from error
        raise error_class(f"{where}: {problem}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Returns the beginning of a library's message."""
    first, *_ = str(error).strip().splitlines() or [""]
    name = type(error).__name__
    if isinstance(error, LookupError) or not first:
        first = f"{name}: {first}".removesuffix(": ")
    return first[:_LONGEST_REASON]
