"""Connections that a client can neither hold nor fill for ever."""

from asyncio import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD_BYTES = 64 * 1024


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits to what it waits for.

    uvicorn waits as long as it takes for the head of a request, whatever its size, and
    for the client to take its answer.

    Args:
        receive_seconds: how long either may take.
        **arguments: of uvicorn's own.
    """

    def __init__(self, *, receive_seconds: float, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._receive_seconds = receive_seconds
        self._in_head = False
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None
        self._answer_timer: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # So writing is paused, and the timer runs, while anything at all is unsent.
        transport.set_write_buffer_limits(high=0)
        self._await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self._await_head()

    def _await_head(self) -> None:
        self._cancel()
        self._head_timer = self.loop.call_later(
            self._receive_seconds,
            self._refuse,
            "408 Request Timeout",
            f"A request must begin within {self._receive_seconds:g} seconds",
        )

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._cancel()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        # What a head begins in may be the end of another request.
        self._head_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self._in_head and self._head_bytes > _HEAD_BYTES:
            self._refuse(
                "431 Request Header Fields Too Large",
                f"A request's head must have at most {_HEAD_BYTES:,} bytes",
            )

    def pause_writing(self) -> None:
        super().pause_writing()
        self._answer_timer = self.loop.call_later(
            self._receive_seconds, self.transport.abort
        )

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._answer_timer is not None:
            self._answer_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        if self._answer_timer is not None:
            self._answer_timer.cancel()
        super().connection_lost(exc)

    def _cancel(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()

    def _refuse(self, status: str, reason: str) -> None:
        """Answers and closes; nothing has been answered on this request yet."""
        if not self.transport.is_closing():
            body = b'{"error":"%s"}' % reason.encode()
            head = (
                f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.close()
