"""Reading goes on while what was read is used."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_END = object()


def read_ahead(values: Iterable[T]) -> Iterator[T]:
    """Yields values, the next of which is made in a thread meanwhile.

    What making one raises is raised where it would be yielded.
    """
    iterator = iter(values)
    with ThreadPoolExecutor(max_workers=1) as thread:
        following = thread.submit(next, iterator, _END)
        while (value := following.result()) is not _END:
            following = thread.submit(next, iterator, _END)
            yield value  # type: ignore[misc]
