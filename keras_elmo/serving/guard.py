"""Keeps pages of other sites, which a user's browser shows, away from a server."""

import functools
import ipaddress
import socket
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from keras_elmo.serving.http import error_response


class Guard:
    """Refuses requests from pages of other sites, and adds headers to every answer.

    Such a page may let its own name point to this machine (DNS rebinding) to read the
    answers. The browser sends that name in the header Host, which may be one of `names`
    or any address. A page may also send requests without reading the answers. The
    browser then sends the page's site in the header Origin; other programs do not.
    """

    def __init__(
        self,
        app: ASGIApp,
        names: Collection[str],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._app = app
        self._names = {name.lower() for name in names}
        self._headers = headers or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        headers = Headers(scope=scope)
        app: ASGIApp = self._app
        _, _, origin = headers.get("origin", "://localhost").partition("://")
        # Browsers always send a host; some health checks do not.
        if not self._is_here(headers.get("host", "localhost")):
            app = error_response(421, "The header Host must name this machine")
        elif not self._is_here(origin):
            app = error_response(403, "The header Origin must name this machine")
        await app(scope, receive, send_with_headers if self._headers else send)

    def _is_here(self, host: str) -> bool:
        name = _without_port(host)
        return name in self._names or _address(name) is not None


def names_for(host: str, others: Collection[str] | None) -> set[str] | None:
    """Returns the names that requests to a server at `host` may use besides addresses.

    Other machines may know the server by names that it does not know. So if they reach
    `host`, any name is allowed (`None`), unless `others` are given.
    """
    if others is None and not _is_loopback(host):
        return None
    return {"localhost", host, socket.gethostname(), *(others or ())}


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _without_port(host: str) -> str:
    name = host.lower()
    # An IPv6 address contains colons.
    return name[1:].partition("]")[0] if name[:1] == "[" else name.split(":")[0]


@functools.lru_cache(64)
def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
