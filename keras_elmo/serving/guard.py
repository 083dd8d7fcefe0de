"""Keeps the pages of other sites, which a user's browser shows, from a server."""

import functools
import ipaddress
import socket
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from keras_elmo.serving.http import json_response


class Guard:
    """Refuses what a page elsewhere sends, and adds headers to every answer.

    Such a page may have its own name point here (DNS rebinding), and would then read
    the answers; the browser says that name in the header Host, which may be one of
    `names` or any address. It may also send requests as they are, without reading the
    answers; the browser then says where it is from in the header Origin, which other
    programs do not send.
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
        # Browsers name a host always; some health checks do not.
        if not self._is_here(headers.get("host", "localhost")):
            error = b'{"error":"The header Host must name this machine"}'
            app = json_response(error, 421)
        elif "origin" in headers:
            _, _, origin = headers["origin"].partition("://")
            if not self._is_here(origin):
                error = b'{"error":"The header Origin must name this machine"}'
                app = json_response(error, 403)
        await app(scope, receive, send_with_headers if self._headers else send)

    def _is_here(self, host: str) -> bool:
        name = _without_port(host)
        return name in self._names or _address(name) is not None


def names_of_machine(host: str) -> set[str]:
    """Returns the names that requests to a server at `host` may use."""
    return {"localhost", host, socket.gethostname()}


def names_for(host: str, others: Collection[str] | None) -> set[str] | None:
    """Returns the names that requests to a server at `host` may use besides addresses.

    At an address that other machines reach, they have names that the server does not
    know: any is allowed (`None`), unless `others` are given.
    """
    if others is None and not _is_loopback(host):
        return None
    return {*names_of_machine(host), *(others or ())}


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _without_port(host: str) -> str:
    name = host.lower()
    # An IPv6 address has colons of its own.
    return name[1:].partition("]")[0] if name[:1] == "[" else name.split(":")[0]


@functools.lru_cache(64)
def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
