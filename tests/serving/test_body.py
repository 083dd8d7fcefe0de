"""Bodies of many requests together."""

import asyncio

import pytest
from starlette.requests import Request

from keras_elmo.serving.body import _TOGETHER, Bodies
from keras_elmo.serving.limits import Code, Limits, ServingError

LIMITS = Limits(body_bytes=10)


def request(*chunks, headers=()):
    messages = [{"type": "http.request", "body": x, "more_body": True} for x in chunks]
    messages.append({"type": "http.request", "body": b""})

    async def receive():
        return messages.pop(0)

    return Request({"type": "http", "method": "POST", "headers": [*headers]}, receive)


def test_together():
    """They count until they are answered, be they sent by REST or by gRPC."""
    bodies = Bodies(LIMITS)

    async def read(*chunks):
        async with bodies.read(request(*chunks)) as body:
            return bytes(body)

    async def fill(count):
        if count == 0:
            with pytest.raises(ServingError, match="Too many large requests") as error:
                await read(b"12")
            assert error.value.code is Code.UNAVAILABLE
            with pytest.raises(ServingError, match="Too many large requests"):
                with bodies.count(b"12"):
                    pass
            assert await read(b"1") == b"1"
        elif count % 2:
            with bodies.count(b"1" * (9 if count == 1 else 10)):
                await fill(count - 1)
        else:
            async with bodies.read(request(b"12345", b"67890")):
                await fill(count - 1)

    for _ in range(2):
        asyncio.run(fill(_TOGETHER))


def test_content_encoding():
    """A few bytes could become many."""

    async def read():
        compressed = [(b"content-encoding", b"gzip")]
        async with Bodies(LIMITS).read(request(b"\x1f\x8b", headers=compressed)):
            pass

    with pytest.raises(ServingError, match="without a Content-Encoding") as error:
        asyncio.run(read())
    assert error.value.code is Code.INVALID_ARGUMENT


def test_refused_bodies_do_not_count():
    bodies = Bodies(LIMITS)

    async def fill():
        for _ in range(100):
            with pytest.raises(ServingError, match="at most 10 bytes"):
                async with bodies.read(request(b"1" * 9, b"1" * 9)):
                    pass
            with pytest.raises(RuntimeError):
                async with bodies.read(request(b"1" * 10)):
                    raise RuntimeError

    asyncio.run(fill())
    with bodies.count(b"1" * 10 * _TOGETHER):
        pass
