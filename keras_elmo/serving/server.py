"""The server's process: its ports, its connections, and how it ends."""

import asyncio
import contextlib
import ctypes
import functools
import logging
import os
import signal
import socket
from asyncio import TimerHandle
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keras_elmo.files.finding import find_model
from keras_elmo.serving import metrics
from keras_elmo.serving.batching import Batcher
from keras_elmo.serving.grpc import GrpcServer
from keras_elmo.serving.limits import Limits, ServeOptions
from keras_elmo.serving.rest import rest_app
from keras_elmo.serving.versions import ModelManager

_HEAD_BYTES = 64 * 1024
_IDLE_SECONDS = 60
_REFRESH_SECONDS = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_log = logging.getLogger(__name__)


def serve(
    model: str | os.PathLike[str],
    log: Callable[[str], None],
    name: str | None = ServeOptions.name,
    host: str = ServeOptions.host,
    port: int = ServeOptions.port,
    grpc_port: int = ServeOptions.grpc_port,
    limits: Limits | None = None,
) -> signal.Signals:
    """Serves a model until SIGINT or SIGTERM, and finishes the requests it has then.

    Args:
        model: an exported model by its name or path, or a folder of exported models in
            folders whose names are numbers; the newest one that loads is served.
        log: called with a sentence when the server is ready and when the version
            changes.
        name: the model's name in requests; that of its folder if `None`.
        host: the address to listen at.
        port: REST port; 0 picks a free one.
        grpc_port: gRPC port; 0 picks a free one.
        limits: what requests may ask for.

    Returns:
        The signal that ended it.

    Raises:
        OSError: a port is not free.
        ValueError: there is no model, or its name would not do in a path.
    """
    name = name or os.path.basename(os.path.abspath(model))
    # A folder of versions is no model by itself.
    folder = model if os.path.isdir(model) else find_model(model)
    if not name or set(name) & set("/:"):
        raise ValueError(f"`name` must have no '/' or ':'. Received: name={name!r}")
    limits = limits or Limits()

    async def run() -> signal.Signals:
        # Ports first, for loading takes long. (Of two servers that start at once, one
        # fails only when it listens.)
        with _bound_socket(host, port) as listening:
            rpc = GrpcServer(_address(host, grpc_port), limits)
            models = await asyncio.to_thread(ModelManager, folder, name, log)
            return await _run(models, listening, rpc, limits, log)

    return asyncio.run(run())


async def _run(
    models: ModelManager,
    listening: socket.socket,
    rpc: GrpcServer,
    limits: Limits,
    log: Callable[[str], None],
) -> signal.Signals:
    ended = _first_signal()
    batcher = Batcher(limits)
    metrics.WAITING_REQUESTS.set_function(batcher.__len__)
    metrics.MODEL_VERSION.set_function(lambda: models.model.version)
    app = rest_app(models, batcher, limits, lambda: not ended.done())
    config = uvicorn.Config(
        app,
        http=functools.partial(_Connection, limits.receive_seconds),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        # Clients are told what they do wrong; the log is for faults of the server.
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_SECONDS,
    )
    http = uvicorn.Server(config)
    # uvicorn would end the process by the signal that it catches.
    http.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]

    await rpc.start(models, batcher)
    host, port = listening.getsockname()[:2]
    try:
        listening.listen()
    except OSError as error:
        raise OSError(f"cannot listen at {_address(host, port)}: {error}") from error
    serving = asyncio.create_task(http.serve([listening]))
    refreshing = asyncio.create_task(_refresh(models, batcher))
    log(
        f"serving {models.name}, version {models.model.version}, at "
        f"http://{_address(host, port)}/v1/models/{models.name} "
        f"and gRPC {_address(host, rpc.port)}"
    )
    number = await ended
    refreshing.cancel()
    http.should_exit = True
    await asyncio.gather(serving, rpc.stop())
    batcher.close()
    return number


async def _refresh(models: ModelManager, batcher: Batcher) -> None:
    """Looks for new versions and frees memory while requests are answered."""
    num_batches = 0
    while True:
        await asyncio.sleep(_REFRESH_SECONDS)
        try:
            await asyncio.to_thread(models.refresh)
            if batcher.num_batches > num_batches:
                num_batches = batcher.num_batches
                await asyncio.to_thread(release_memory)
        except Exception:
            # Whatever is in the folder, the loaded model is served.
            _log.exception("looking for another version")


def release_memory() -> None:
    """Makes glibc return freed memory to the system.

    Batches of all sizes leave gaps in its pools, which grow to a tenth of the process
    in some thousand requests.
    """
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _first_signal() -> "asyncio.Future[signal.Signals]":
    """Returns a future of the first signal; a second one ends the process at once."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[signal.Signals] = loop.create_future()

    def end(number: signal.Signals) -> None:
        ended.set_result(number)
        for each in _SIGNALS:
            loop.remove_signal_handler(each)

    for number in _SIGNALS:
        loop.add_signal_handler(number, end, number)
    return ended


@contextlib.contextmanager
def _bound_socket(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns off Nagle's algorithm, which would delay
    # answers by 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except (OSError, OverflowError) as error:
            address = _address(host, port)
            raise OSError(f"cannot listen at {address}: {error}") from error
        yield bound


def _address(host: str, port: int) -> str:
    # IPv6 addresses have colons of their own.
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits for slow clients and for large heads."""

    def __init__(self, receive_seconds: float, **uvicorn_arguments: object) -> None:
        super().__init__(**uvicorn_arguments)  # type: ignore[arg-type]
        self._receive_seconds = receive_seconds
        self._in_head = False
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None
        self._answer_timer: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # So writing is paused, and the timer runs, while anything is unsent.
        transport.set_write_buffer_limits(high=0)
        self._await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
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

    def on_headers_complete(self) -> None:
        self._in_head = False
        _cancel(self._head_timer)
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        # The packet that a head begins in may hold the end of another request.
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
        _cancel(self._answer_timer)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head_timer)
        _cancel(self._answer_timer)
        super().connection_lost(exc)

    def _refuse(self, status: str, reason: str) -> None:
        """Answers and closes; nothing has been answered on this request yet."""
        body = f'{{"error":"{reason}"}}'
        head = (
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        if not self.transport.is_closing():
            self.transport.write((head + body).encode())
            self.transport.close()


def _cancel(timer: TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
