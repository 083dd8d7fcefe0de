"""Keeps other processes out of a folder."""

import contextlib
import os
from collections.abc import Iterator

from keras_elmo.utils.types import StrPath


@contextlib.contextmanager
def held(folder: StrPath, error: str) -> Iterator[None]:
    """Keeps other processes out of a folder in the block, or raises a `ValueError`.

    The system releases the lock however the process ends. Where the system or the disk
    has no locks, nothing is locked.
    """
    try:
        import fcntl
    except ImportError:
        # Windows has no fcntl, and cannot open folders.
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(error) from None
        except OSError:
            # Such as a network disk without locks.
            pass
        yield
    finally:
        os.close(descriptor)
