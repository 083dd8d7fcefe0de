"""Reads the bodies of requests, within limits for each body and for all bodies."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from starlette.requests import ClientDisconnect, Request

from keras_elmo.serving.limits import Code, Limits, ServingError, invalid

# All bodies may have this many times the limit of one: 256 MiB by default.
_TOGETHER = 64


class Bodies:
    """Counts the bytes of all requests that are read or wait for an answer."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = _TOGETHER * limits.body_bytes

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytearray]:
        """Yields the body of a request that is not too large, slow or compressed."""
        body = bytearray()
        try:
            await self._read(request, body)
            yield body
        finally:
            self._free += len(body)

    @contextmanager
    def count(self, body: bytes) -> Iterator[None]:
        """Counts a body that somebody else has read, while the block runs."""
        if len(body) > self._free:
            raise self._full()
        self._free -= len(body)
        try:
            yield
        finally:
            self._free += len(body)

    async def _read(self, request: Request, body: bytearray) -> None:
        if request.headers.get("content-encoding", "identity") != "identity":
            raise invalid("The body must come without a Content-Encoding")
        limits = self._limits
        too_large = ServingError(
            Code.TOO_LARGE, f"The body must have at most {limits.body_bytes:,} bytes"
        )
        announced = int(request.headers.get("content-length", 0))
        if announced > limits.body_bytes and "expect" in request.headers:
            # The client asks before it sends the body.
            raise too_large
        size = 0
        is_full = False
        try:
            async with asyncio.timeout(limits.receive_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    is_full |= len(chunk) > self._free
                    # Most clients look for an answer only when they have sent
                    # everything, so a body that is too large is read and dropped.
                    if not is_full and max(size, announced) <= limits.body_bytes:
                        body += chunk
                        self._free -= len(chunk)
        except TimeoutError:
            raise ServingError(
                Code.TOO_SLOW,
                f"The body must arrive within {limits.receive_seconds:g} seconds",
            ) from None
        except ClientDisconnect:
            raise ServingError(Code.CANCELLED, "The client went away") from None
        if size > limits.body_bytes:
            raise too_large
        if is_full:
            raise self._full()

    def _full(self) -> ServingError:
        return ServingError(
            Code.UNAVAILABLE, "Too many large requests wait; try again later"
        )
