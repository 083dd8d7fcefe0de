"""An HTTP server with limits for slow and greedy clients, on uvicorn."""

import asyncio
import contextlib
import errno
import functools
import logging
import math
import signal
import socket
from asyncio import TimerHandle
from collections.abc import Iterator
from typing import Any

import orjson
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keras_elmo.serving.limits import Code, Limits, ServingError

# Bytes of a request without its body and the frames of its chunks.
_HEAD_BYTES = 64 * 1024
# Requests that a client may send before it gets an answer.
_PIPELINED = 64
# A chunk's frame: its size and two line ends, without extensions.
_FRAME_BYTES = 16
_IDLE_SECONDS = 60
# After these errors the client may still send what nobody reads.
_CLOSING = (Code.TOO_SLOW, Code.TOO_LARGE)
# Names a future in the state of a request, which is done when its client has left.
_LEFT = "left"
# The process or the system has no more sockets.
_NO_SOCKETS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_SAID_SECONDS = 60
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_log = logging.getLogger(__name__)


def http_server(app: ASGIApp, limits: Limits) -> uvicorn.Server:
    """Returns a server for an application, which its caller has to end."""
    config = uvicorn.Config(
        app,
        # Typed as a class, and called as any function is.
        http=functools.partial(_Connection, limits),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        # Clients get an answer about their mistakes; the log is for the server's.
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_SECONDS,
    )
    return _Server(config)


def first_signal() -> "asyncio.Future[signal.Signals]":
    """Returns a future of the first signal. A second one ends the process at once."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[signal.Signals] = loop.create_future()

    def end(number: signal.Signals) -> None:
        # Two signals may wait for the loop at the same time.
        if not ended.done():
            ended.set_result(number)
        for handled in _SIGNALS:
            loop.remove_signal_handler(handled)

    for number in _SIGNALS:
        loop.add_signal_handler(number, end, number)
    return ended


@contextlib.contextmanager
def bound_socket(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns off Nagle's algorithm, which would delay
    # answers by 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except (OSError, OverflowError) as error:
            where = address(host, port)
            raise OSError(f"cannot listen at {where}: {error}") from error
        yield bound


def address(host: str, port: int) -> str:
    # IPv6 addresses have colons of their own.
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def start_listening(bound: socket.socket) -> tuple[str, int]:
    """Returns the address, to which clients can connect from now on."""
    host, port = bound.getsockname()[:2]
    try:
        bound.listen()
    except OSError as error:
        raise OSError(f"cannot listen at {address(host, port)}: {error}") from error
    return host, port


class _Server(uvicorn.Server):
    """uvicorn's server, which logs one line when it cannot accept connections."""

    # uvicorn's own method would end the process by the signal that it catches.
    capture_signals = contextlib.nullcontext  # type: ignore[assignment]
    _last_said = -math.inf

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._log_fault)
        await super().serve(sockets)

    def _log_fault(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
    ) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in _NO_SOCKETS):
            loop.default_exception_handler(context)
        # asyncio reports it two thousand times per second.
        elif loop.time() > self._last_said + _SAID_SECONDS:
            self._last_said = loop.time()
            _log.error("cannot accept connections: %s", error)


class _Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits for slow clients and for large heads."""

    def __init__(self, limits: Limits, **uvicorn_arguments: object) -> None:
        # The arguments depend on uvicorn's version.
        super().__init__(**uvicorn_arguments)  # type: ignore[arg-type]
        self._receive_seconds = limits.receive_seconds
        self._max_connections = limits.max_connections
        self._in_head = False
        self._head_bytes = 0
        self._unanswered = 0
        self._head_timer: TimerHandle | None = None
        self._answer_timer: TimerHandle | None = None

    # asyncio promises a BaseTransport; uvicorn narrows the type like this, too.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Writing is paused, and the timer runs, as long as anything is unsent.
        transport.set_write_buffer_limits(high=0)
        self._left = self.loop.create_future()
        self._await_head()
        if len(self.connections) > self._max_connections:
            self._refuse(
                "503 Service Unavailable",
                f"There are {self._max_connections:,} connections; try again later",
            )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"][_LEFT] = self._left
        self._in_head = True
        self._head_bytes = 0
        self._await_head()

    def _await_head(self) -> None:
        _cancel(self._head_timer)
        self._head_timer = self.loop.call_later(
            self._receive_seconds,
            self._refuse,
            "408 Request Timeout",
            f"A request must begin within {self._receive_seconds:g} seconds",
        )

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers after a body would be taken for headers.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._unanswered += 1
        _cancel(self._head_timer)
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._head_bytes = max(0, self._head_bytes - _FRAME_BYTES)

    def on_body(self, body: bytes) -> None:
        self._head_bytes = max(0, self._head_bytes - len(body))
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        # The packet in which a head begins may also hold the end of another request.
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > _HEAD_BYTES or self._unanswered > _PIPELINED:
            self._refuse(
                "431 Request Header Fields Too Large",
                f"A request must have at most {_HEAD_BYTES:,} bytes beside its body, "
                f"and {_PIPELINED} requests may wait on a connection",
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unanswered -= 1
        # uvicorn's timer stops at any byte, even in a body that nobody reads.
        is_idle = self.cycle.response_complete and not self._in_head
        if is_idle and not self.transport.is_closing():
            _cancel(self._head_timer)
            self._head_timer = self.loop.call_later(_IDLE_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer_timer = self.loop.call_later(
            self._receive_seconds, self.transport.abort
        )

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._answer_timer)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head_timer)
        _cancel(self._answer_timer)
        self._left.set_result(None)
        super().connection_lost(exc)

    def _refuse(self, status: str, reason: str) -> None:
        """Answers, unless an answer has begun, and closes the connection."""
        body = f'{{"error":"{reason}"}}'
        head = (
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        if not self.transport.is_closing():
            if self._in_head or self.cycle is None or not self.cycle.response_started:
                self.transport.write((head + body).encode())
            self.transport.close()


def _cancel(timer: TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


@contextlib.contextmanager
def while_connected(request: Request) -> Iterator[None]:
    """Cancels the block when the client leaves."""
    left: asyncio.Future[None] = request.scope["state"][_LEFT]
    task = asyncio.current_task()

    def cancel(_: object) -> None:
        if task is not None:
            task.cancel()

    left.add_done_callback(cancel)
    try:
        yield
    except asyncio.CancelledError:
        if left.done() and task is not None:
            task.uncancel()
            raise ServingError(Code.CANCELLED, "The client went away") from None
        raise
    finally:
        left.remove_done_callback(cancel)


async def refuse(request: Request, error: Exception) -> Response:
    """Answers with an error, as an exception handler."""
    if isinstance(error, ServingError):
        code, message = error.code, str(error)
    else:
        # Starlette raises it again, and uvicorn logs it.
        code, message = Code.INTERNAL, "The server failed; see its log"
    headers = {"connection": "close"} if code in _CLOSING else {}
    return error_response(code.value, message, headers)


def error_response(
    status: int, message: str, headers: dict[str, str] | None = None
) -> Response:
    return json_response(dumps({"error": message}), status, headers)


def json_response(
    body: bytes, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(body, status, headers, media_type="application/json")


def dumps(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
