"""Memory that is free goes back to the system."""

import ctypes


def release_memory() -> None:
    """Has the C library give back what was freed, where it is glibc.

    It keeps that for later, in several pools. Batches of all sizes leave gaps in them,
    which add up to a tenth of the process in some thousand requests.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
