"""What a request may take of the server, and the error that refuses one."""

import dataclasses
from enum import Enum

from keras_elmo.utils.checks import check_positive


class Code(Enum):
    """gRPC status codes, each with the HTTP status that TensorFlow Serving gives it."""

    INVALID_ARGUMENT = 400
    NOT_FOUND = 404
    # These two are of HTTP alone.
    TOO_SLOW = 408
    TOO_LARGE = 413
    CANCELLED = 499
    INTERNAL = 500
    UNAVAILABLE = 503


class ServingError(Exception):
    """A request is refused; the code and the message say why."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


def invalid(rule: str, received: object = None) -> ServingError:
    """Returns the error of a request that breaks a rule."""
    message = rule if received is None else f"{rule}. Received: {received}"
    return ServingError(Code.INVALID_ARGUMENT, message)


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one request, and all waiting requests together, may take of the server.

    Attributes:
        body_bytes: the largest body of a request, in bytes.
        sentences: the most sentences of a request.
        tokens: the most tokens of a request and of a batch, padding included:
            sentences times the longest one. Memory and time depend on it.
        waiting: the most requests that wait for the model; one more is answered
            with status 503.
        receive_seconds: the most seconds for the head of a request, for its body, and
            for the client to take the answer.
    """

    body_bytes: int = 4 * 2**20
    sentences: int = 1024
    tokens: int = 16_384
    waiting: int = 256
    receive_seconds: float = 30.0

    def __post_init__(self) -> None:
        check_positive(**dataclasses.asdict(self))
