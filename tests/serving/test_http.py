"""Connections to a server in this process: slow, endless, too many, or left."""

import asyncio
import contextlib
import errno
import json
import socket

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from keras_elmo.serving.http import bound_socket, http_server, start_listening
from keras_elmo.serving.limits import Limits
from tests.serving.test_rest import FakeModel, app_of

pytestmark = pytest.mark.graph


@contextlib.asynccontextmanager
async def serving(app, limits=None):
    """Serves an application in this process; yields the server and its address."""
    server = http_server(app, limits or Limits())
    with bound_socket("127.0.0.1", 0) as bound:
        address = start_listening(bound)
        running = asyncio.create_task(server.serve([bound]))
        try:
            yield server, address
        finally:
            server.should_exit = True
            await running


def test_nagle_is_off():
    """Nagle's algorithm would delay small answers by 40 ms after the first few."""

    async def ask():
        async with serving(app_of()) as (server, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            (connection,) = server.server_state.connections
            accepted = connection.transport.get_extra_info("socket")
            is_off = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            writer.close()
        return is_off

    assert asyncio.run(ask())


@pytest.mark.parametrize("requests", [1, 3])
def test_client_leaves(requests, caplog):
    """Nothing is computed for it any more, nor for what it has asked besides."""
    fake = FakeModel()
    begun, ended = [], []

    async def predict(*_):
        begun.append(asyncio.Event())
        try:
            await begun[-1].wait()
        finally:
            ended.append(True)

    async def leave():
        fake.predict = predict
        async with serving(app_of(fake)) as (_, address):
            _, writer = await asyncio.open_connection(*address)
            body = b'{"inputs":["1"]}'
            head = b"POST /v1/models/elmo:predict HTTP/1.1\r\nHost: localhost\r\n"
            length = b"Content-Length: %d\r\n\r\n" % len(body)
            writer.write((head + length + body) * requests)
            while not begun:
                await asyncio.sleep(0.001)
            assert not ended
            writer.close()
            for _ in range(1000):
                if ended:
                    break
                await asyncio.sleep(0.01)
            left = list(ended)
            begun[0].set()
        return left

    assert asyncio.run(leave()) == [True]
    assert len(begun) == 1
    assert caplog.records == []


async def echo(scope, receive, send):
    """Answers with the request's headers, as they are after its body."""
    request = Request(scope, receive)
    await request.body()
    await JSONResponse(dict(request.headers))(scope, receive, send)


CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("start", "again"),
    [
        (CHUNKED + b"0\r\n", b"a: b\r\n"),
        (CHUNKED + b"0\r\na: ", b"b"),
        (CHUNKED + b"1", b";a=b"),
        (CHUNKED, b"1;abcdefghijklmnopqrstuvwxyz\r\n \r\n"),
        (b"POST / HTTP/1.1\r\na: ", b"b"),
        (b"POST / HTTP/1.1\r\n", b"a: b\r\n"),
        (b"GET /", b"a"),
        (b"", b"\r\n"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\r\n"),
        (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ],
    ids=["trailers", "trailer", "extension", "extensions", "header", "headers"]
    + ["path", "blank", "blank afterwards", "requests"],
)
def test_endless_request(start, again):
    """The server soon closes a connection on which a request never ends."""
    sent = 0

    async def send():
        nonlocal sent
        async with serving(echo) as (_, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(start)
            answered = asyncio.create_task(reader.read())
            with contextlib.suppress(OSError):
                while not answered.done() and sent < 5_000_000:
                    writer.write(again * 1000)
                    sent += len(again) * 1000
                    await writer.drain()
                    await asyncio.sleep(0.001)
            writer.close()
            with contextlib.suppress(OSError):
                await answered

    asyncio.run(send())
    assert sent < 5_000_000


def echoed(request):
    """Sends a request of any bytes; returns the head and the body of the answer."""

    async def ask():
        async with serving(echo) as (_, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readuntil(b"}")
            writer.close()
        return head, json.loads(body)

    return asyncio.run(ask())


def test_trailers_are_no_headers():
    trailers = b"Content-Type: text/html\r\nHost: y\r\n\r\n"
    _, headers = echoed(CHUNKED + b"1\r\na\r\n0\r\n" + trailers)
    assert headers == {"host": "localhost", "transfer-encoding": "chunked"}


def test_connections():
    """One more than the limit is closed with a reason; a place is free afterwards."""

    async def ask(address, keep):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = await reader.readuntil(b"}")
        if keep:
            return answer, writer
        writer.close()
        await writer.wait_closed()
        return answer, None

    async def fill():
        async with serving(echo, Limits(connections=2)) as (_, address):
            kept = [await ask(address, True) for _ in range(2)]
            third, _ = await ask(address, False)
            kept[0][1].close()
            await asyncio.sleep(0.1)
            fourth, _ = await ask(address, False)
            kept[1][1].close()
        return [answer for answer, _ in kept], third, fourth

    kept, third, fourth = asyncio.run(fill())
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in (*kept, fourth))
    assert third.startswith(b"HTTP/1.1 503 ")
    assert b"There are 2 connections; try again later" in third


def test_no_more_files(caplog):
    """A full table of files is said once, though asyncio reports it without pause."""

    async def fail():
        async with serving(echo) as (_, address):
            loop = asyncio.get_running_loop()
            await asyncio.sleep(0)
            for error in (OSError(errno.EMFILE, "Too many open files"), KeyError("x")):
                for _ in range(3):
                    loop.call_exception_handler({"message": "no", "exception": error})
            _, writer = await asyncio.open_connection(*address)
            writer.close()

    asyncio.run(fail())
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "cannot accept connections: [Errno 24] Too many open files", *["no"] * 3
    ]  # fmt: skip


def test_small_chunks():
    """A body of chunks of a byte has as many as any."""
    head, _ = echoed(CHUNKED + b"1\r\na\r\n" * 200_000 + b"0\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")


PREDICT = b"POST /v1/models/elmo:predict HTTP/1.1\r\nHost: localhost\r\n"
LENGTH = b"Content-Length: 100\r\n\r\n"


@pytest.mark.parametrize(
    ("start", "slow", "reason"),
    [
        (b"", PREDICT[:20], "A request must begin within 0.5 seconds"),
        (PREDICT + LENGTH, b'{"inputs": ["slow"', "The body must arrive within 0.5 s"),
        (CHUNKED, b"1\r\n{\r\n" * 3, "The body must arrive within 0.5 seconds"),
        (
            b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\n" + LENGTH,
            b'{"inputs": ["slow"',
            "The body must arrive within 0.5 seconds",
        ),
    ],
    ids=["head", "body", "chunks", "body that nobody reads"],
)
def test_slow_client(start, slow, reason):
    """It gets 408 and is closed; other clients are answered meanwhile."""

    async def ask():
        limits = Limits(receive_seconds=0.5)
        async with serving(app_of(limits=limits), limits) as (_, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(start)
            answer = asyncio.create_task(reader.read())
            for byte in slow:
                with contextlib.suppress(OSError):
                    writer.write(bytes([byte]))
                await asyncio.sleep(0.05)
            other, writing = await asyncio.open_connection(*address)
            writing.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await other.readline()).endswith(b" 200 OK\r\n")
            writing.close()
            writer.close()
            return await answer

    answer = asyncio.run(ask())
    assert answer.startswith(b"HTTP/1.1 408 ") and reason.encode() in answer
