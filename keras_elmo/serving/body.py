"""The body of a request, if it is not too large and does not take too long."""

import asyncio

from starlette.requests import ClientDisconnect, Request

from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.limits import Limits


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
