"""Ordered prefetching map."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def prefetch_map(
    function: Callable[[S], T], values: Iterable[S], num_threads: int
) -> Generator[T, None, None]:
    """Yields `function(value)` for each value in order, computed ahead in threads.

    As many results as there are threads are computed ahead; with 0 threads, none. An
    exception is raised where its result would be yielded.
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
