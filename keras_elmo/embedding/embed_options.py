"""The options of embedding a file, declared once for Python and the command line."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from keras_elmo.config import TOKENIZERS, ElmoConfig
from keras_elmo.utils.options import check_options, option

if TYPE_CHECKING:
    import numpy as np

_FILE = "contents of the file"


@dataclasses.dataclass(frozen=True)
class EmbedOptions:
    """Options that decide what a file of vectors holds."""

    layers: str = option(
        "all",
        'Layers to write: "all", or "mix", their sum by the weights of an exported '
        "model; of another model, their average.",
        _FILE,
        choices=("all", "mix"),
    )
    rows: str = option(
        "tokens",
        'Rows of a Parquet table or of JSON: "tokens", or "sentences", the mean over '
        "the tokens.",
        _FILE,
        choices=("tokens", "sentences"),
    )
    dtype: str = option(
        "float32",
        "Type of the numbers in the file.",
        _FILE,
        choices=("float32", "float16"),
    )
    tokenizer: str | None = option(
        None,
        'How the text is split into words: "whitespace" keeps text that is tokenized '
        "already. If not given, it is split as the model's text was.",
        _FILE,
        choices=TOKENIZERS,
    )

    def __post_init__(self) -> None:
        check_options(self)

    def shape(self, config: ElmoConfig) -> tuple[int, ...]:
        """Returns the shape of a token's vectors, `(units,)` or `(layers, units)`."""
        units = 2 * config.projection_units
        return (units,) if self.layers == "mix" else (config.num_layers + 1, units)

    def num_rows(self, tokens: Sequence[bytes]) -> int:
        """Returns the number of rows that a line has."""
        return len(tokens) if self.rows == "tokens" else 1

    def numbers(self, vectors: Sequence["np.ndarray"]) -> list["np.ndarray"]:
        """Returns the rows of each line, in the type of the file."""
        if self.rows == "sentences":
            vectors = [mean_over_tokens(line) for line in vectors]
        return [line.astype(self.dtype, copy=False) for line in vectors]


def mean_over_tokens(vectors: "np.ndarray") -> "np.ndarray":
    """Returns the mean over the second last axis, the tokens; 0 if there are none."""
    return vectors.sum(axis=-2) / max(vectors.shape[-2], 1)
