"""Controls what Python and Linux's C library do with freed memory."""

import ctypes
import gc
import sys

# Parameters of glibc's mallopt(3).
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8


def keep_freed_memory() -> None:
    """Lets the process reuse large blocks instead of returning them to Linux.

    By default glibc returns every freed block of 32 MiB or more. The next batch needs
    as much, and Linux would map and zero every page again.
    """
    # No freed block exceeds these values.
    _call("mallopt", _MMAP_THRESHOLD, 2**30)
    _call("mallopt", _TRIM_THRESHOLD, 2**31 - 1)
    _call("mallopt", _TOP_PAD, 2**26)


def share_freed_memory() -> None:
    """Lets all later threads share one pool of memory.

    By default each of up to 16 threads keeps what its largest batch needed.
    """
    _call("mallopt", _ARENA_MAX, 1)


def return_freed_memory() -> None:
    """Returns unused memory to Linux."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    """Calls a function of glibc, which other C libraries do not have."""
    if sys.platform == "linux":
        function = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            function(*arguments)


def freeze_garbage() -> None:
    """Frees objects in cycles, and hides the rest from all later collections.

    A full collection visits all objects of modules and models, which takes a quarter
    of a second. So a server calls this when it has loaded its model.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
