"""uvicorn, as part of a process that does more than serve HTTP."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette

from keras_elmo.serving.connection import Connection
from keras_elmo.serving.limits import Limits

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
