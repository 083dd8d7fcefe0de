"""Makes one error of whatever libraries raise about a damaged file."""

import contextlib
import errno
import os
from collections.abc import Iterator

from keras_elmo.utils.types import StrPath

# Of an error without a file name: a damaged file has a position that cannot be.
_DAMAGE = (None, errno.EINVAL, errno.EOVERFLOW)
_LONGEST_REASON = 200


@contextlib.contextmanager
def reading(
    path: StrPath,
    problem: str = "cannot be read",
    error_class: type[ValueError] = ValueError,
) -> Iterator[None]:
    """Makes one error of what libraries raise about a file that anybody may have made.

    The error of a damaged file names it, and says `problem` before the library's
    reason. An `OSError` names it, too. An error of ours passes: it names the file
    already.
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
    """Returns the beginning of what a library says."""
    first, *_ = str(error).strip().splitlines() or [""]
    name = type(error).__name__
    if isinstance(error, LookupError) or not first:
        first = f"{name}: {first}".removesuffix(": ")
    return first[:_LONGEST_REASON]
