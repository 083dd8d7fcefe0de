"""TensorFlow Serving's REST interface, as an ASGI application."""

import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import numpy as np
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.convertors import CONVERTOR_TYPES, IntegerConvertor, StringConvertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_elmo.serving.batcher import Batcher
from keras_elmo.serving.body import Bodies
from keras_elmo.serving.http import dumps, json_response, refuse, while_connected
from keras_elmo.serving.json_request import JsonRequest
from keras_elmo.serving.limits import Code, Limits, ServingError, invalid
from keras_elmo.serving.metrics import count_request
from keras_elmo.serving.signatures import NUMBERS_AT_ONCE, Arrays, encode
from keras_elmo.serving.versions import ModelManager

Endpoint = Callable[[Request], Awaitable[Response]]


def rest_app(
    models: ModelManager,
    batcher: Batcher,
    limits: Limits,
    is_ready: Callable[[], bool],
) -> Starlette:
    """Returns the application; `is_ready` says whether new requests are welcome."""

    bodies = Bodies(limits)

    async def predict(request: Request) -> Response:
        with count_request("REST"):
            async with bodies.read(request) as body:
                model = models.find(**request.path_params)
                asked = JsonRequest.parse(body)
                signature = model.signature(asked.signature_name)
                inputs = asked.arrays(signature.arguments)
                write = partial(encode_outputs, by_row=asked.by_row)
                with while_connected(request):
                    outputs = await batcher.predict(
                        model, signature, inputs, asked.output_filter
                    )
                    return json_response(await encode(outputs, write))

    def status(request: Request) -> Response:
        status = models.status(**request.path_params)
        return json_response(dumps({"model_version_status": status}))

    def metadata(request: Request) -> Response:
        model = models.find(**request.path_params)
        version = str(model.version)
        spec = {"name": models.name, "signature_name": "", "version": version}
        definitions = {"signature_def": {"signature_def": model.signature_defs}}
        return json_response(dumps({"model_spec": spec, "metadata": definitions}))

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
            async with bodies.read(request):
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
    handlers = dict.fromkeys((ServingError, Exception), refuse)
    return Starlette(routes=routes, exception_handlers=handlers)


class _ModelName(StringConvertor):
    regex = "[^/:]+"


class _Version(IntegerConvertor):
    regex = "[0-9]{1,19}"


CONVERTOR_TYPES |= {"model_name": _ModelName(), "version": _Version()}


class _Route(Route):
    """Ignores the case of the path, as TensorFlow Serving does."""

    def __init__(
        self, path: str, endpoint: Endpoint, method: str | None = "GET"
    ) -> None:
        super().__init__(path, endpoint, methods=method and [method])
        self.methods = self.methods if method else None
        self.path_regex = re.compile(self.path_regex.pattern, re.IGNORECASE)


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
