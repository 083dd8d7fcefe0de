"""TensorFlow Serving's REST interface, as an ASGI application."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator

import numpy as np
import orjson
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.convertors import CONVERTOR_TYPES, IntegerConvertor, StringConvertor
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from keras_elmo.serving.batching import Batcher
from keras_elmo.serving.json_request import JsonRequest
from keras_elmo.serving.limits import Code, Limits, ServingError, invalid
from keras_elmo.serving.metrics import count_request
from keras_elmo.serving.model import NUMBERS_AT_ONCE, Arrays, encode
from keras_elmo.serving.versions import ModelManager

# After these the client may still send what nobody reads.
_CLOSING = (Code.TOO_SLOW, Code.TOO_LARGE)

Endpoint = Callable[[Request], Awaitable[Response]]


def rest_app(
    models: ModelManager,
    batcher: Batcher,
    limits: Limits,
    is_ready: Callable[[], bool],
) -> Starlette:
    """Returns the application; `is_ready` says whether new requests are welcome."""

    async def predict(request: Request) -> Response:
        with count_request("REST"):
            body = await read_body(request, limits)
            model = models.find(**request.path_params)
            asked = JsonRequest.parse(body)
            signature = model.signature(asked.signature_name)
            inputs = asked.arrays(signature.arguments)
            outputs = await batcher.predict(
                model, signature, inputs, asked.output_filter
            )
            return _json(await encode(encode_outputs, outputs, asked.by_row))

    def status(request: Request) -> Response:
        status = models.status(**request.path_params)
        return _json(_dumps({"model_version_status": status}))

    def metadata(request: Request) -> Response:
        model = models.find(**request.path_params)
        version = str(model.version)
        spec = {"name": models.name, "signature_name": "", "version": version}
        definitions = {"signature_def": {"signature_def": model.signature_defs}}
        return _json(_dumps({"model_spec": spec, "metadata": definitions}))

    def readyz(request: Request) -> Response:
        return Response("ready\n") if is_ready() else Response("stopping\n", 503)

    def no_route(request: Request) -> Response:
        what = f"{request.method} {request.scope['path']}"
        if request.scope["path"].startswith("/v1/"):
            raise invalid(f"Malformed request: {what}")
        raise ServingError(Code.NOT_FOUND, f"Not found: {what}")

    def after_body(answer: Callable[[Request], Response]) -> Endpoint:
        """Reads the body before answering, so that none arrives afterwards."""

        async def endpoint(request: Request) -> Response:
            await read_body(request, limits)
            return answer(request)

        return endpoint

    lookups: dict[str, Callable[[Request], Response]] = {
        "/healthz": lambda request: Response("ok\n"),
        "/readyz": readyz,
        "/monitoring/prometheus/metrics": lambda request: Response(
            generate_latest(), media_type=CONTENT_TYPE_LATEST
        ),
    }
    routes = []
    name = "/v1/models/{name:model_name}"
    for path in (name, name + "/versions/{version:version}"):
        lookups |= {path: status, path + "/metadata": metadata}
        routes.append(_Route(path + ":predict", predict, "POST"))
    routes += [_Route(path, after_body(answer)) for path, answer in lookups.items()]
    routes.append(_Route("/{path:path}", after_body(no_route), None))
    handlers = dict.fromkeys((ServingError, Exception), _refuse)
    return Starlette(routes=routes, exception_handlers=handlers)


class _ModelName(StringConvertor):
    regex = "[^/:]+"


class _Version(IntegerConvertor):
    regex = "[0-9]{1,18}"


CONVERTOR_TYPES |= {"model_name": _ModelName(), "version": _Version()}


class _Route(Route):
    """Ignores the case of the path, as TensorFlow Serving does."""

    def __init__(
        self, path: str, endpoint: Endpoint, method: str | None = "GET"
    ) -> None:
        super().__init__(path, endpoint, methods=method and [method])
        self.methods = self.methods if method else None
        self.path_regex = re.compile(self.path_regex.pattern, re.IGNORECASE)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, ServingError):
        code, message = error.code, str(error)
    else:
        # Starlette raises it again, and uvicorn logs it.
        code, message = Code.INTERNAL, "The server failed; see its log"
    headers = {"connection": "close"} if code in _CLOSING else {}
    return _json(_dumps({"error": message}), code.value, headers)


def _json(
    body: bytes, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(body, status, headers, media_type="application/json")


def _dumps(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


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
        yield (b"," if place else b"{") + _dumps(name) + b":"
        yield from _encode_array(array)
    yield b"}"


def _encode_array(array: np.ndarray) -> Iterator[bytes]:
    # orjson holds the interpreter's lock while it writes.
    if array.size <= NUMBERS_AT_ONCE:
        yield _dumps(array)
        return
    for place, part in enumerate(array):
        yield b"," if place else b"["
        yield from _encode_array(part)
    yield b"]"


async def read_body(request: Request, limits: Limits) -> bytes:
    """Returns the body, unless it is too large, too slow, or compressed."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise invalid("The body must come without a Content-Encoding")
    too_large = ServingError(
        Code.TOO_LARGE, f"The body must have at most {limits.body_bytes:,} bytes"
    )
    announced = int(request.headers.get("content-length", 0))
    if announced > limits.body_bytes and "expect" in request.headers:
        # The client asks before it sends the body.
        raise too_large
    body = bytearray()
    size = 0
    try:
        async with asyncio.timeout(limits.receive_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                # Most clients look for an answer only when they have sent everything,
                # so a body that is too large is read and dropped.
                if max(size, announced) <= limits.body_bytes:
                    body += chunk
    except TimeoutError:
        raise ServingError(
            Code.TOO_SLOW,
            f"The body must arrive within {limits.receive_seconds:g} seconds",
        ) from None
    except ClientDisconnect:
        raise ServingError(Code.CANCELLED, "The client went away") from None
    if size > limits.body_bytes:
        raise too_large
    return bytes(body)
