"""Ordered prefetching map."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def prefetch_map(
    function: Callable[[S], T], values: Iterable[S], num_threads: int
) -> Iterator[T]:
    """Yields what a function makes of values, in their order.

    The next few are being made meanwhile. What making one raises is raised where it
    would be yielded.

    Args:
        function: is called in several threads at once.
        values: as many are read ahead as there are threads.
        num_threads: with 0 there are none, and nothing is ahead.
    """
    if not num_threads:
        yield from map(function, values)
        return
    with ThreadPoolExecutor(num_threads) as threads:
        waiting: deque[Future[T]] = deque()
        for value in values:
            waiting.append(threads.submit(function, value))
            if len(waiting) > num_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
