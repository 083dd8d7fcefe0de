"""How Python and the C library of Linux keep memory that was freed."""

import ctypes
import gc
import sys

# Parameters of glibc's mallopt(3).
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8


def keep_freed_memory() -> None:
    """Lets the process reuse large blocks instead of returning them to Linux.

    By default glibc returns every block of 32 MiB or more when it is freed, and the
    next batch, which needs as much, has every page of it mapped and zeroed anew.
    """
    # Values that no freed block exceeds.
    _call("mallopt", _MMAP_THRESHOLD, 2**30)
    _call("mallopt", _TRIM_THRESHOLD, 2**31 - 1)
    _call("mallopt", _TOP_PAD, 2**26)


def share_freed_memory() -> None:
    """Lets the threads that come use one pool of memory.

    By default each of up to 16 threads keeps what its largest batch needed.
    """
    _call("mallopt", _ARENA_MAX, 1)


def return_freed_memory() -> None:
    """Returns to Linux what no block uses at the moment."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Calls one of glibc's own functions; other C libraries do not have it."""
    if sys.platform == "linux":
        function = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            function(*arguments)


def freeze_garbage() -> None:
    """Frees what is in cycles, and hides the rest from all later collections.

    Each full collection visits the objects of all modules and models, for a quarter of
    a second. So a program that waits for requests does it when it has loaded its model.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
