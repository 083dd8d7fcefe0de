"""Requests that a page of another site may send."""

import asyncio
import socket

import pytest

from keras_elmo.serving.guard import Guard, names_for


def ask(guard, **headers):
    """Returns the status and the headers of an answer."""
    sent = []

    async def send(message):
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": pairs}
    asyncio.run(guard(scope, None, send))
    return sent[0]["status"], dict(sent[0]["headers"])


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})


GUARD = Guard(app, names_for("127.0.0.1", ["elmo.example"]), {"a": "b"})


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "127.0.0.1:8501", "[::1]:80", "10.0.0.3"]
    + ["elmo.example", "Elmo.Example:443"],
)
def test_own_hosts(host):
    assert ask(GUARD, host=host) == (200, {b"a": b"b"})
    assert ask(GUARD, host="localhost", origin=f"https://{host}")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example:8501", "", "localhost.evil", "[evil]:1"],
)
def test_other_hosts(host):
    status, headers = ask(GUARD, host=host)
    assert (status, headers[b"a"]) == (421, b"b")
    assert ask(GUARD, host="localhost", origin=f"http://{host}")[0] == 403


def test_no_page():
    """Other programs send no Origin, and some no Host; a page in a file has no site."""
    assert ask(GUARD)[0] == 200
    assert ask(GUARD, origin="null")[0] == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_names_for_this_machine(host):
    names = {"localhost", host, socket.gethostname()}
    assert names_for(host, None) == names_for(host, []) == names
    assert names_for(host, ["a"]) == {*names, "a"}


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "example.org"])
def test_names_for_other_machines(host):
    """Any, unless some are given."""
    assert names_for(host, None) is None
    assert names_for(host, []) == {"localhost", host, socket.gethostname()}
