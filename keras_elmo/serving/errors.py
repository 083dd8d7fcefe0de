"""Why a request is not answered, in words that HTTP and gRPC both have."""

import dataclasses
from enum import Enum

from keras_elmo.utils.checks import check_positive


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


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one request, and all that wait, may take of the server.

    Attributes:
        body_bytes: the largest body.
        sentences: the most sentences of a request.
        tokens: the most tokens of a request with its padding, sentences times the
            longest; memory and time depend on that. A pass through the model takes no
            more than that, either.
        waiting: the most requests that wait for the model; one more is told to come
            back later.
        receive_seconds: how long the head of a request may take to arrive, how long
            its body, and how long a client may keep its answer waiting.
    """

    body_bytes: int = 4 * 2**20
    sentences: int = 1024
    tokens: int = 16_384
    waiting: int = 256
    receive_seconds: float = 30.0

    def __post_init__(self) -> None:
        check_positive(**dataclasses.asdict(self))
