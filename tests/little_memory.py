"""A machine with little memory, for a while."""

import contextlib
import resource
from pathlib import Path


@contextlib.contextmanager
def memory_of_at_most(more):
    """This process cannot get so many bytes more than it has; beyond is MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
