"""Options of the explorer's command."""

import dataclasses

from keras_elmo.serving.limits import Limits, ServeOptions
from keras_elmo.utils.options import option

_ADDRESS = "address"
_LIMITS = "limits"


@dataclasses.dataclass(frozen=True)
class ExploreOptions(Limits):
    """Address of the page, and limits for its requests."""

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
        ServeOptions.host, "Address to listen at.", _ADDRESS, metavar="HOST"
    )
    port: int = option(
        8502, "Port; 0 picks a free one.", _ADDRESS, positive=False, most=65_535
    )
