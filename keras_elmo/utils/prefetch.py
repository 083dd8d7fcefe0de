"""Computes results ahead in threads, in order."""

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

    Each thread computes one result ahead. An exception is raised where its result would
    be yielded. A generator that is closed or dropped early does not wait for its
    threads: the garbage collector may drop it inside a thread that is being started,
    where waiting would never end.
    """
    if not num_threads:
        yield from map(function, values)
        return
    threads, wait = ThreadPoolExecutor(num_threads), True
    try:
        waiting: deque[Future[T]] = deque()
        for value in values:
            waiting.append(threads.submit(function, value))
            if len(waiting) > num_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except GeneratorExit:
        wait = False
        raise
    finally:
        threads.shutdown(wait, cancel_futures=not wait)
