"""Limits of this process, for a while."""

import contextlib
import os
import resource
import signal
from pathlib import Path


@contextlib.contextmanager
def files_of_at_most(size):
    """No file can grow beyond `size` bytes, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with _limited(resource.RLIMIT_FSIZE, size):
            yield
    finally:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


@contextlib.contextmanager
def open_files_of_at_most(more):
    """This process can open at most `more` files more."""
    now = max(map(int, os.listdir("/proc/self/fd")))
    with _limited(resource.RLIMIT_NOFILE, now + 1 + more):
        yield


@contextlib.contextmanager
def memory_of_at_most(more):
    """This process can get at most `more` bytes more; beyond is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    with _limited(resource.RLIMIT_AS, pages * resource.getpagesize() + more):
        yield


@contextlib.contextmanager
def _limited(what, limit):
    before = resource.getrlimit(what)
    resource.setrlimit(what, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)
