"""TensorFlow Serving's REST interface, as an ASGI application."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from keras_elmo.serving.batcher import Batcher
from keras_elmo.serving.body import Bodies
from keras_elmo.serving.http import dumps, json_response, refuse, while_connected
from keras_elmo.serving.json_request import JsonRequest
from keras_elmo.serving.limits import Code, Limits, ServingError, invalid
from keras_elmo.serving.metrics import count_request
from keras_elmo.serving.signatures import NUMBERS_AT_ONCE, Arrays, encode
from keras_elmo.serving.versions import ModelManager

# Arguments of `ModelManager.find` and `ModelManager.status`.
Version: TypeAlias = dict[str, Any]

_MODEL = "/v1/models/(?P<name>[^/:]+)(/versions/(?P<version>[0-9]{1,19}))?"


def rest_app(
    models: ModelManager,
    batcher: Batcher,
    limits: Limits,
    is_ready: Callable[[], bool],
) -> Starlette:
    """Returns the application; `is_ready` says whether new requests are welcome."""

    bodies = Bodies(limits)

    async def predict(request: Request, version: Version) -> Response:
        with count_request("REST"):
            async with bodies.read(request) as body:
                model = models.find(**version)
                asked = JsonRequest.parse(body)
                signature = model.signature(asked.signature_name)
                inputs = asked.arrays(signature.arguments)
                write = partial(encode_outputs, by_row=asked.by_row)
                with while_connected(request):
                    outputs = await batcher.predict(
                        model, signature, inputs, asked.output_filter
                    )
                    return json_response(await encode(outputs, write))

    def status(name: str, version: int | None) -> Response:
        states = models.status(name, version)
        return json_response(dumps({"model_version_status": states}))

    def metadata(name: str, version: int | None) -> Response:
        model = models.find(name, version)
        number = str(model.version)
        spec = {"name": models.name, "signature_name": "", "version": number}
        definitions = {"signature_def": {"signature_def": model.signature_defs}}
        return json_response(dumps({"model_spec": spec, "metadata": definitions}))

    def readyz() -> Response:
        return Response("ready\n") if is_ready() else Response("stopping\n", 503)

    def metrics() -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    lookups: dict[str, Callable[..., Response]] = {
        "/healthz": lambda: Response("ok\n"),
        "/readyz": readyz,
        "/monitoring/prometheus/metrics": metrics,
        _MODEL: status,
        f"{_MODEL}/metadata": metadata,
    }

    async def answer(request: Request) -> Response:
        method, path = request.method, request.scope["path"]
        version = _version(f"{_MODEL}:predict", path)
        if method == "POST" and version is not None:
            return await predict(request, version)
        # The body is read before the answer, so that nothing arrives afterwards.
        async with bodies.read(request):
            for pattern, look_up in lookups.items():
                version = _version(pattern, path)
                if method in ("GET", "HEAD") and version is not None:
                    return look_up(**version)
            if path.startswith("/v1/"):
                raise invalid(f"Malformed request: {method} {path}")
            raise ServingError(Code.NOT_FOUND, f"Not found: {method} {path}")

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        response = await answer(Request(scope, receive))
        await response(scope, receive, send)

    handlers = dict.fromkeys((ServingError, Exception), refuse)
    app = Starlette(exception_handlers=handlers)
    app.router.default = route
    return app


def _version(pattern: str, path: str) -> Version | None:
    """Returns the name and the version of a model in a path that matches a pattern.

    The case is ignored, as by TensorFlow Serving. Other paths return `None`.
    """
    if (matched := re.fullmatch(pattern, path, re.IGNORECASE)) is None:
        return None
    version = matched.groupdict()
    if number := version.get("version"):
        version["version"] = int(number)
    return version


def encode_outputs(outputs: Arrays, by_row: bool) -> bytes:
    """Writes the outputs of a model as JSON; other threads take turns meanwhile."""
    if not by_row:
        return b'{"outputs":' + b"".join(_encode_object(outputs)) + b"}"
    rows = (
        b"".join(_encode_object(dict(zip(outputs, row, strict=True))))
        for row in zip(*outputs.values(), strict=True)
    )
    return b'{"predictions":[' + b",".join(rows) + b"]}"


def _encode_object(arrays: Arrays) -> Iterator[bytes]:
    for place, (name, array) in enumerate(arrays.items()):
        yield (b"," if place else b"{") + dumps(name) + b":"
        yield from _encode_array(array)
    yield b"}"


def _encode_array(array: np.ndarray | bytes) -> Iterator[bytes]:
    # orjson holds the interpreter's lock while it writes.
    if isinstance(array, bytes) or array.size <= NUMBERS_AT_ONCE:
        yield dumps(_as_text(array))
        return
    for place, part in enumerate(array):
        yield b"," if place else b"["
        yield from _encode_array(part)
    yield b"]"


def _as_text(array: object) -> object:
    """Returns strings for bytes, in lists for arrays; numbers as they are."""
    if isinstance(array, bytes):
        return array.decode(errors="replace")
    if isinstance(array, np.ndarray) and array.dtype.kind == "O":
        return [_as_text(part) for part in array]
    return array
