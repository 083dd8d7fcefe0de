"""How the C library keeps memory."""

import ctypes
import sys

# glibc's mallopt(3): its parameters, and values that no freed block exceeds.
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _TOP_PAD = -3, -1, -2
_KEEP = {_MMAP_THRESHOLD: 2**30, _TRIM_THRESHOLD: 2**31 - 1, _TOP_PAD: 2**26}


def keep_freed_memory() -> None:
    """Lets the process reuse large blocks instead of returning them to Linux.

    By default glibc returns every block of 32 MiB or more when it is freed, and the
    next batch, which needs as much, has every page of it mapped and zeroed anew.
    """
    if sys.platform != "linux":
        return
    # Other C libraries of Linux do not have it.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in _KEEP.items():
            mallopt(parameter, value)
