"""TensorFlow Serving's REST interface."""

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from keras_elmo.serving.errors import Code, Limits, ServingError
from keras_elmo.serving.json_request import JsonRequest
from keras_elmo.serving.metrics import CONTENT_TYPE, Metrics
from keras_elmo.serving.predictor import Predictor
from keras_elmo.serving.signature import Arrays
from keras_elmo.serving.versions import Versions


def dumps(value: Any) -> bytes:
    """Writes JSON; arrays are written as they lie in memory."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def prediction(outputs: Arrays, by_row: bool) -> bytes:
    """Writes the outputs of a model.

    Args:
        outputs: arrays of as many rows each.
        by_row: one object a row, under `predictions`, instead of one array an output,
            under `outputs`.
    """
    if not by_row:
        return dumps({"outputs": outputs})
    rows = zip(*outputs.values(), strict=True)
    return dumps(
        {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}
    )


def error_body(message: str) -> bytes:
    """Writes why there is no answer."""
    return dumps({"error": message})


async def read_body(request: Request, limits: Limits) -> bytes:
    """Returns the body.

    Raises:
        ServingError: it is too large, comes too slowly, is encoded, or the client went
            away.
    """
    if request.headers.get("content-encoding", "identity") != "identity":
        raise ServingError(
            Code.INVALID_ARGUMENT, "The body must come without a Content-Encoding"
        )
    too_large = ServingError(
        Code.TOO_LARGE, f"The body must have at most {limits.body_bytes:,} bytes"
    )
    announced = int(request.headers.get("content-length", 0))
    if announced > limits.body_bytes and "expect" in request.headers:
        # The client asks before it sends the body.
        raise too_large
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.receive_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                # What is too large is read and dropped: most clients look for an
                # answer only when they have sent everything.
                if max(size, announced) <= limits.body_bytes:
                    chunks.append(chunk)
                else:
                    chunks.clear()
    except TimeoutError:
        raise ServingError(
            Code.TOO_SLOW,
            f"The body must arrive within {limits.receive_seconds:g} seconds",
        ) from None
    except ClientDisconnect:
        raise ServingError(Code.CANCELLED, "The client went away") from None
    if size > limits.body_bytes:
        raise too_large
    return b"".join(chunks)


METRICS = "/monitoring/prometheus/metrics"

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_WHICH = r"/v1/models/([^/:]+)(?:/versions/(\d{1,18}))?"
_PREDICT = re.compile(_WHICH + ":predict", re.IGNORECASE)
_STATUS = re.compile(_WHICH, re.IGNORECASE)
_METADATA = re.compile(_WHICH + "/metadata", re.IGNORECASE)
# After these, the client may still be sending what nobody reads.
_CLOSING = (Code.TOO_SLOW, Code.TOO_LARGE)

_log = logging.getLogger(__name__)


class Rest:
    """The ASGI application.

    Args:
        versions: what is served.
        predictor: what computes.
        metrics: what counts.
        limits: of a request.
        is_ready: whether new requests are welcome.
    """

    def __init__(
        self,
        versions: Versions,
        predictor: Predictor,
        metrics: Metrics,
        limits: Limits,
        is_ready: Callable[[], bool],
    ) -> None:
        self._versions = versions
        self._predictor = predictor
        self._metrics = metrics
        self._limits = limits
        self._is_ready = is_ready
        self.app = Starlette(
            routes=[Route("/{path:path}", self._answer, methods=_METHODS)]
        )

    async def _answer(self, request: Request) -> Response:
        headers = {}
        try:
            if request.method == "POST" and _PREDICT.fullmatch(request.scope["path"]):
                with self._metrics.request("REST"):
                    return await self._predict(request)
            # Whatever it is, it is taken in before it is answered.
            await read_body(request, self._limits)
            return self._look_up(request)
        except ServingError as error:
            status, message = error.code.value, str(error)
            if error.code in _CLOSING:
                headers["connection"] = "close"
        except Exception:
            _log.exception("%s %s", request.method, request.scope["path"])
            status, message = Code.INTERNAL.value, "The server failed; see its log"
        return _json(error_body(message), status, headers)

    async def _predict(self, request: Request) -> Response:
        body = await read_body(request, self._limits)
        model = self._versions.find(*self._which(_PREDICT, request))
        wanted = JsonRequest.parse(body)
        signature = model.signature(wanted.signature_name)
        outputs = await self._predictor.predict(
            model, signature, wanted.arrays(signature.arguments), wanted.output_filter
        )
        return _json(prediction(outputs, wanted.by_row))

    def _look_up(self, request: Request) -> Response:
        path = request.scope["path"]
        if request.method in ("GET", "HEAD"):
            if path == METRICS:
                return Response(self._metrics.page(), media_type=CONTENT_TYPE)
            if path == "/healthz":
                return Response("ok\n")
            if path == "/readyz":
                ready = self._is_ready()
                return Response(
                    "ready\n" if ready else "stopping\n", 200 if ready else 503
                )
            if _STATUS.fullmatch(path):
                status = self._versions.status(*self._which(_STATUS, request))
                return _json(dumps({"model_version_status": status}))
            if _METADATA.fullmatch(path):
                return _json(dumps(self._metadata(request)))
        if path.startswith("/v1/"):
            raise ServingError(
                Code.INVALID_ARGUMENT, f"Malformed request: {request.method} {path}"
            )
        raise ServingError(Code.NOT_FOUND, f"Not found: {request.method} {path}")

    def _which(
        self, pattern: re.Pattern[str], request: Request
    ) -> tuple[str, int | None]:
        """The name and the version that a path asks for."""
        found = pattern.fullmatch(request.scope["path"])
        name, version = found.groups() if found else ("", None)
        return name, None if version is None else int(version)

    def _metadata(self, request: Request) -> dict[str, Any]:
        model = self._versions.find(*self._which(_METADATA, request))
        return {
            "model_spec": {
                "name": self._versions.name,
                "signature_name": "",
                "version": str(model.version),
            },
            "metadata": {"signature_def": {"signature_def": model.signature_defs}},
        }


def _json(
    body: bytes, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(body, status, headers, media_type="application/json")
