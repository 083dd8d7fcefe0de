"""The process that serves a model: its ports, its parts, and how it ends."""

import asyncio
import contextlib
import ctypes
import functools
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette

from keras_elmo.serving.batching import Batcher
from keras_elmo.serving.connection import Connection
from keras_elmo.serving.errors import Limits
from keras_elmo.serving.grpc import GrpcServer
from keras_elmo.serving.metrics import Metrics
from keras_elmo.serving.predictor import Predictor
from keras_elmo.serving.rest import Rest
from keras_elmo.serving.versions import Versions

_IDLE_SECONDS = 60


class HttpServer(uvicorn.Server):
    """Serves an application until `should_exit` is set, and finishes what it has begun.

    Args:
        app: the application.
        limits: of a request.
    """

    def __init__(self, app: Starlette, limits: Limits) -> None:
        connection: Any = functools.partial(
            Connection, receive_seconds=limits.receive_seconds
        )
        super().__init__(
            uvicorn.Config(
                app,
                http=connection,
                ws="none",
                lifespan="off",
                # What a client does wrong is told to the client.
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=_IDLE_SECONDS,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the process: uvicorn would end by the one it has caught."""
        yield


def release_memory() -> None:
    """Has the C library give back what was freed, where it is glibc.

    It keeps that for later, in several pools. Batches of all sizes leave gaps in them,
    which add up to a tenth of the process in some thousand requests.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


_SECONDS_BETWEEN = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_log = logging.getLogger(__name__)


def serve(
    model: str | os.PathLike[str],
    tell: Callable[[str], None],
    name: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8501,
    grpc_port: int = 8500,
    limits: Limits | None = None,
) -> signal.Signals:
    """Serves a model until SIGINT or SIGTERM, and finishes what it has begun.

    Args:
        model: an exported model, or a folder of such in folders whose names are
            numbers, of which the newest is served.
        tell: called with a sentence when the server is ready, and when it serves
            another version.
        name: the model's name for clients; that of its folder if `None`.
        host: the address to listen at.
        port: of REST; 0 for any that is free.
        grpc_port: of gRPC; 0 for any that is free.
        limits: what requests may ask for.

    Returns:
        The signal that ended it.

    Raises:
        OSError: a port is not free.
        ValueError: there is no model, or its name would not do in a path.
    """
    name = name or os.path.basename(os.path.abspath(model))
    if not name or set(name) & set("/:"):
        raise ValueError(f"`name` must have no '/' or ':'. Received: name={name!r}")
    limits = limits or Limits()

    async def run() -> signal.Signals:
        # The ports are taken before anything that takes long. (Of two that begin at
        # once, one finds out when it listens.)
        with _bound(host, port) as listening:
            rpc = GrpcServer(_address(host, grpc_port), limits)
            versions = await asyncio.to_thread(Versions, model, name, tell)
            return await _run(versions, listening, rpc, limits, tell)

    return asyncio.run(run())


@contextlib.contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Said in full: asyncio looks at the protocol before it turns off the delay of small
    # packets, which would be 40 ms for every answer.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except (OSError, OverflowError) as error:
            raise OSError(
                f"cannot listen at {_address(host, port)}: {error}"
            ) from error
        yield bound


def _address(host: str, port: int) -> str:
    # An address of IPv6 has colons of its own.
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _run(
    versions: Versions,
    listening: socket.socket,
    rpc: GrpcServer,
    limits: Limits,
    tell: Callable[[str], None],
) -> signal.Signals:
    ended = _signal()
    metrics = Metrics()
    batcher = Batcher(limits.tokens, limits.waiting, metrics.batch)
    metrics.watch("waiting_requests", "Requests that wait", batcher.__len__)
    metrics.watch("model_version", "Served now", lambda: versions.model.version)
    predictor = Predictor(batcher, limits)
    rest = Rest(versions, predictor, metrics, limits, lambda: not ended.done())
    http = HttpServer(rest.app, limits)

    await rpc.start(versions, predictor, metrics)
    host, port = listening.getsockname()[:2]
    try:
        listening.listen()
    except OSError as error:
        raise OSError(f"cannot listen at {_address(host, port)}: {error}") from error
    serving = asyncio.create_task(http.serve([listening]))
    watching = asyncio.create_task(_look_after(versions, batcher))
    tell(
        f"serving {versions.name}, version {versions.model.version}, at "
        f"http://{_address(host, port)}/v1/models/{versions.name} "
        f"and gRPC {_address(host, rpc.port)}"
    )
    number = await ended
    watching.cancel()
    http.should_exit = True
    await asyncio.gather(serving, rpc.stop())
    batcher.close()
    return number


def _signal() -> "asyncio.Future[signal.Signals]":
    """The first signal that comes; a second one ends the process at once."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[signal.Signals] = loop.create_future()

    def end(number: signal.Signals) -> None:
        ended.set_result(number)
        for each in _SIGNALS:
            loop.remove_signal_handler(each)

    for number in _SIGNALS:
        loop.add_signal_handler(number, end, number)
    return ended


async def _look_after(versions: Versions, batcher: Batcher) -> None:
    """What there is to do every now and then while requests are answered."""
    num_batches = 0
    while True:
        await asyncio.sleep(_SECONDS_BETWEEN)
        try:
            await asyncio.to_thread(versions.refresh)
            if batcher.num_batches > num_batches:
                num_batches = batcher.num_batches
                await asyncio.to_thread(release_memory)
        except Exception:
            # Whatever stands in that folder, the model that is loaded is served.
            _log.exception("looking for another version")
