"""Why a request is not answered, in words that HTTP and gRPC both have."""

from enum import Enum


class Code(Enum):
    """gRPC's codes, each with the HTTP status that TensorFlow Serving gives it.

    TOO_SLOW and TOO_LARGE concern how a request arrives, which only HTTP has to say;
    in gRPC the library says it.
    """

    INVALID_ARGUMENT = 400
    NOT_FOUND = 404
    TOO_SLOW = 408
    TOO_LARGE = 413
    CANCELLED = 499
    INTERNAL = 500
    UNAVAILABLE = 503


class ServingError(Exception):
    """A request that is not answered, and why."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
