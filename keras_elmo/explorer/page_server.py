"""Serves the page while models are read."""

import asyncio
import contextlib
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from itertools import chain

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from keras_elmo.explorer.api import Api
from keras_elmo.explorer.explored_tagger import ExploredTagger
from keras_elmo.explorer.explorer import Explorer
from keras_elmo.explorer.mixes import Mixes, read_mix_file
from keras_elmo.serving.body import Bodies
from keras_elmo.serving.guard import Guard, names_for
from keras_elmo.serving.http import (
    address,
    bound_socket,
    error_response,
    first_signal,
    http_server,
    json_response,
    refuse,
    start_listening,
    while_connected,
)
from keras_elmo.serving.limits import ExploreOptions, ServingError, invalid

_HEADERS = {
    # Scripts and styles only from files of this server.
    "content-security-policy": "default-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


def explore(
    models: Sequence[str],
    log: Callable[[str], None],
    text: Sequence[str] | None = None,
    mix: Sequence[str] = (),
    browser: bool = True,
    options: ExploreOptions | None = None,
    tokenizer: str | None = None,
    tagger: str | None = None,
) -> signal.Signals:
    """Serves the page until SIGINT or SIGTERM, and returns that signal.

    `log` is called with the address, with each model that is read, and when all are
    there. The other arguments are the command's.
    """
    options = options or ExploreOptions()
    # The port is taken first, because loading takes long. Ctrl-C ends this thread.
    with bound_socket(options.host, options.port) as listening:
        mixes: Mixes = list(chain.from_iterable(map(read_mix_file, mix)))
        explorers: dict[str, Explorer] = {}
        tags = ExploredTagger.load(tagger, tokenizer) if tagger else None
        api = Api(explorers, mixes, options.tokens, tags)
        names = list(dict.fromkeys(models))
        api.reading = names[0], 1, len(names)
        with _serving(api, options, listening) as url:
            log(f"open {url}")
            if browser:
                # A browser in the terminal returns only when the user leaves it.
                threading.Thread(
                    target=webbrowser.open, args=(url,), daemon=True
                ).start()
            for number, name in enumerate(names, 1):
                log(f"reading {name} and the text")
                api.reading = name, number, len(names)
                explorer = Explorer.load(name, text, options.sentences, True, tokenizer)
                explorer.warm_up()
                explorers[name] = explorer
            api.reading = None
            log("ready")
            return asyncio.run(_first_signal())


async def _first_signal() -> signal.Signals:
    return await first_signal()


@contextlib.contextmanager
def _serving(
    api: Api, options: ExploreOptions, listening: socket.socket
) -> Iterator[str]:
    """Serves the page in another thread; yields its address."""
    server = http_server(explore_app(api, options), options)
    host, port = start_listening(listening)
    thread = threading.Thread(target=asyncio.run, args=(server.serve([listening]),))
    thread.start()
    try:
        yield f"http://{address(host, port)}/"
    finally:
        server.should_exit = True
        thread.join()


async def _refuse_route(request: Request, error: Exception) -> Response:
    """Answers a request for a file that is not there, or by a wrong method."""
    if not isinstance(error, HTTPException):
        raise error
    path, headers = request.url.path[:100], dict(error.headers or {})
    message = f"There is no {path}"
    if "Allow" in headers:
        rule = f"{path} must be asked by {headers['Allow']}"
        message = f"{rule}. Received: {request.method}"
    return error_response(error.status_code, message, headers)


def explore_app(api: Api, options: ExploreOptions) -> ASGIApp:
    """Returns the application: the page's files and the answers of the API."""
    # One request at a time, with all processors.
    worker = ThreadPoolExecutor(1, thread_name_prefix="explorer")
    bodies = Bodies(options)
    waiting = 0

    async def answer(request: Request) -> Response:
        nonlocal waiting
        async with bodies.read(request) as body:
            # Pages of other sites may send forms and plain text, but no JSON.
            kind = request.headers.get("content-type", "")
            if not kind.startswith("application/json"):
                raise invalid("The body must be application/json")
            options.check_waiting(waiting)
            waiting += 1
            try:
                loop = asyncio.get_running_loop()
                method = request.path_params["method"]
                with while_connected(request):
                    text = loop.run_in_executor(worker, api.answer, method, body)
                    return json_response(await text)
            finally:
                waiting -= 1

    static = StaticFiles(directory=str(files(__package__) / "static"), html=True)
    app = Starlette(
        routes=[
            # A mount of its own, so that the files do not answer GET requests.
            Mount("/api", routes=[Route("/{method}", answer, methods=["POST"])]),
            Mount("/", static),
        ],
        exception_handlers={
            **dict.fromkeys((ServingError, Exception), refuse),
            HTTPException: _refuse_route,
        },
    )
    return Guard(app, names_for(options.host, ()) or (), _HEADERS)
