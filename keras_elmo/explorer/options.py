"""What the explorer's command takes."""

import dataclasses

from keras_elmo.serving.limits import Limits, ServeOptions
from keras_elmo.utils.options import check_options, option

_ADDRESS = "address"
_LIMITS = "limits"


@dataclasses.dataclass(frozen=True)
class ExploreOptions:
    """Where the page is, and what a request may take.

    Raises:
        ValueError: a limit is not positive.
    """

    host: str = option(
        ServeOptions.host, "Address to listen at.", _ADDRESS, metavar="HOST"
    )
    port: int = option(8502, "Port; 0 picks a free one.", _ADDRESS, positive=False)
    sentences: int = option(
        5000,
        "Sentences of the text that are read; each word takes some kB of memory.",
        _LIMITS,
        flag="--max-sentences",
    )
    tokens: int = option(
        300, "Tokens of a sentence that is asked about.", _LIMITS, flag="--max-tokens"
    )
    body_bytes: int = option(
        Limits.body_bytes,
        "Bytes of the body of a request.",
        _LIMITS,
        flag="--max-body-bytes",
    )
    waiting: int = option(
        Limits.waiting,
        "Requests that wait for the model; one more is answered with status 503.",
        _LIMITS,
        flag="--max-waiting",
    )
    receive_seconds: float = option(
        Limits.receive_seconds,
        "Seconds for a request to arrive, and for the client to take the answer.",
        _LIMITS,
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def limits(self) -> Limits:
        """What the server checks of every request."""
        return Limits(
            body_bytes=self.body_bytes,
            waiting=self.waiting,
            receive_seconds=self.receive_seconds,
        )
