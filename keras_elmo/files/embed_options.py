"""Which vectors of a text are written, and how."""

import dataclasses
import os

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.files.saved_model import read_mix

_CHOICES = {
    "layers": ("all", "mix"),
    "rows": ("tokens", "sentences"),
    "dtype": ("float32", "float16"),
}


@dataclasses.dataclass(frozen=True)
class EmbedOptions:
    """What decides on the content of a file of vectors, beside the text and the model.

    Attributes:
        layers: `"all"`, or `"mix"`, their mix alone.
        rows: of a table, `"tokens"`, or `"sentences"`, the mean over the tokens.
        dtype: of the numbers, `"float32"` or `"float16"`.

    Raises:
        ValueError: one is something else.
    """

    layers: str
    rows: str
    dtype: str

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                wanted = " or ".join(map(repr, allowed))
                raise ValueError(
                    f"`{name}` must be {wanted}. Received: {name}={value!r}"
                )

    def shape(self, config: ElmoConfig) -> tuple[int, ...]:
        """Returns that of a token's vectors, `(units,)` or `(layers, units)`."""
        units = 2 * config.projection_units
        return (units,) if self.layers == "mix" else (config.num_layers + 1, units)


def mix_weights(model: str | os.PathLike[str]) -> np.ndarray:
    """Returns what an exported model multiplies each layer with.

    Raises:
        ValueError: its mix is more than a weighted sum.
    """
    scalars, gamma, layer_norm = read_mix(model)
    if layer_norm:
        raise ValueError(
            f"`layers` must be 'all' for {os.fspath(model)}: its mix normalises layers "
            "by their batch, which a file does not have"
        )
    weights = np.exp(scalars - np.max(scalars))
    return gamma * weights / weights.sum()
