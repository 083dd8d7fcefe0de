"""Keeps other processes out of a folder."""

import contextlib
import os
from collections.abc import Iterator

from keras_elmo.utils.types import StrPath


@contextlib.contextmanager
def held(folder: StrPath, error: str) -> Iterator[None]:
    """Keeps other processes out of a folder while its `with` block runs.

    The system lets go of it however the process ends. Where the system or the disk
    knows no locks, nothing is held.

    Args:
        folder: path of an existing folder.
        error: the message if another process holds it.

    Raises:
        ValueError: another process holds it.
    """
    try:
        import fcntl
    except ImportError:
        # Windows has none, and opens no folder.
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(error) from None
        except OSError:
            # A network's disk, perhaps.
            pass
        yield
    finally:
        os.close(descriptor)
