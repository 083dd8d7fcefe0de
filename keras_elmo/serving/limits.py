"""Options and limits of the servers, and the error that refuses a request."""

import contextlib
import dataclasses
import json
import math
from collections.abc import Sequence
from enum import Enum

from keras_elmo.utils.options import check_options, option

# Open files besides REST connections: libraries, gRPC, versions that are loaded.
_OTHER_FILES = 200
# Characters of a value in an error, and of the whole error.
_SHOWN = 60
_MESSAGE = 1_000


class Code(Enum):
    """gRPC status codes, each with the HTTP status that TensorFlow Serving gives it."""

    INVALID_ARGUMENT = 400
    NOT_FOUND = 404
    # gRPC does not use these two.
    TOO_SLOW = 408
    TOO_LARGE = 413
    CANCELLED = 499
    INTERNAL = 500
    UNAVAILABLE = 503


class ServingError(Exception):
    """Refuses a request; the code and the message say why."""

    def __init__(self, code: Code, message: str) -> None:
        # The message may quote names of any length.
        super().__init__(message[:_MESSAGE])
        self.code = code


def invalid(rule: str, received: object = None) -> ServingError:
    """Returns the error for a request that breaks a rule."""
    message = rule if received is None else f"{rule}. Received: {received}"
    return ServingError(Code.INVALID_ARGUMENT, message)


def shown(value: object) -> str:
    """Returns a JSON value for an error: briefly, however large or deep it is."""
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        keys = ", ".join(f"'{key[:_SHOWN]}'" for key in list(value)[:5])
        return f"an object with {keys or 'nothing'}"
    short = value[:_SHOWN] if isinstance(value, str) else value
    return json.dumps(short, ensure_ascii=False)


_ADDRESS = "name and address"
_LIMITS = "limits"


@dataclasses.dataclass(frozen=True)
class ServeOptions:
    """Name and address of a served model."""

    name: str | None = option(
        None,
        "Name of the model in requests; the name of its folder if not given.",
        _ADDRESS,
        metavar="NAME",
    )
    host: str = option(
        "127.0.0.1", "Address to listen at; 0.0.0.0 for all.", _ADDRESS, metavar="HOST"
    )
    allow_hosts: Sequence[str] | None = option(
        None,
        "Names allowed in the headers Host and Origin beside this machine's own, such "
        "as a proxy's. If not given, all names are allowed when the address is not "
        "this machine's own.",
        _ADDRESS,
        metavar="NAME",
        flag="--allow-host",
        parse=str,
        many=True,
    )
    port: int = option(
        8501, "REST port; 0 picks a free one.", _ADDRESS, positive=False, most=65_535
    )
    grpc_port: int = option(
        8500, "gRPC port; 0 picks a free one.", _ADDRESS, positive=False, most=65_535
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits for one request, and for all waiting requests together.

    Memory and time depend on the tokens with their padding: the number of sentences
    times the length of the longest.
    """

    body_bytes: int = option(
        4 * 2**20,
        "Bytes of the body of a request.",
        _LIMITS,
        # gRPC takes no more.
        most=2**31 - 1,
        flag="--max-body-bytes",
    )
    sentences: int = option(
        1024, "Sentences of a request.", _LIMITS, flag="--max-sentences"
    )
    tokens: int = option(
        16_384,
        "Tokens of a request and of a batch, padding included.",
        _LIMITS,
        flag="--max-tokens",
    )
    waiting: int = option(
        256,
        "Requests that wait for the model; any more are answered with status 503.",
        _LIMITS,
        flag="--max-waiting",
    )
    connections: int = option(
        1_000,
        "REST connections at a time, fewer where the system allows fewer open files; "
        "any more are answered with status 503.",
        _LIMITS,
        flag="--max-connections",
    )
    receive_seconds: float = option(
        30.0,
        "Seconds to receive the head of a request, to receive its body, and to send "
        "the answer.",
        _LIMITS,
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def max_connections(self) -> int:
        """`connections`, or fewer where the system limits open files."""
        files = math.inf
        with contextlib.suppress(ImportError):
            # Not on Windows.
            import resource

            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            files = math.inf if soft == resource.RLIM_INFINITY else soft
        return int(min(self.connections, max(files / 2, files - _OTHER_FILES)))

    def check_waiting(self, count: int) -> None:
        """Raises a `ServingError` if too many requests wait already."""
        if count >= self.waiting:
            raise ServingError(
                Code.UNAVAILABLE,
                f"{self.waiting} requests wait already; try again later",
            )


@dataclasses.dataclass(frozen=True)
class ExploreOptions(Limits):
    """Address of the explorer's page, and limits for its requests."""

    sentences: int = option(
        5000,
        "Sentences to read from the text; each word takes a few kB of memory.",
        _LIMITS,
        flag="--max-sentences",
    )
    tokens: int = option(
        300, "Tokens of a sentence in a request.", _LIMITS, flag="--max-tokens"
    )
    host: str = option(
        ServeOptions.host, "Address to listen at.", "address", metavar="HOST"
    )
    port: int = option(
        8502, "Port; 0 picks a free one.", "address", positive=False, most=65_535
    )
