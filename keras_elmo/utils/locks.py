"""Keeps other processes out of a folder."""

import contextlib
import os
from collections.abc import Iterator

from keras_elmo.utils.types import StrPath


@contextlib.contextmanager
def held(folder: StrPath, error: str) -> Iterator[None]:
    """Keeps other processes out of a folder in its block, or raises a `ValueError`.

    The system lets go of it however the process ends. Where the system or the disk
    knows no locks, nothing is held.
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
