"""The sizes of a model, by name, by hand, or from a published options.json."""

import dataclasses
import math
import numbers
import os
import reprlib
from collections.abc import Mapping
from typing import Any, NoReturn, TypeGuard

from keras_elmo.utils.files import read_json_object
from keras_elmo.utils.types import Config, StrPath

# The published models' alphabet: ids of one word, and how many ids there are
# (256 bytes, 5 boundary and padding ids, and 0 for a masked position).
MAX_CHARACTERS = 50
# Bytes of a word; its begin and its end take the other two.
MAX_BYTES = MAX_CHARACTERS - 2
NUM_CHARACTERS = 262
# The kinds of `Tokenizer`.
TOKENIZERS = ("unicode", "whitespace", "published", "treebank")

# No model has more; sizes that would exhaust the memory are refused.
_MOST_LAYERS = 100
_MOST_UNITS = 1 << 20
_RANGES = {
    "num_highway_layers": (0, _MOST_LAYERS),
    "char_embedding_units": (1, _MOST_UNITS),
    "units": (1, _MOST_UNITS),
    "projection_units": (1, _MOST_UNITS),
    "num_layers": (1, _MOST_LAYERS),
}
_Filters = tuple[tuple[int, int], ...]
_PUBLISHED_FILTERS: _Filters = tuple(
    zip(range(1, 8), (32, 32, 64, 128, 256, 512, 1024), strict=True)
)


def _refuse(name: str, rule: str, value: object) -> NoReturn:
    raise ValueError(f"`{name}` must be {rule}. Received: {name}={reprlib.repr(value)}")


def _filters(given: object) -> _Filters:
    """Returns pairs of integers as tuples."""
    if (
        not isinstance(given, list | tuple)
        or not 1 <= len(given) <= _MOST_LAYERS
        or not all(
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and all(map(_is_integer, pair))
            for pair in given
        )
    ):
        raise ValueError(
            f"`filters` must hold 1 to {_MOST_LAYERS} pairs of integers, (width, "
            f"count). Received: filters={reprlib.repr(given)}"
        )
    for width, count in given:
        if not (1 <= width <= MAX_CHARACTERS and 1 <= count <= _MOST_UNITS):
            raise ValueError(
                f"`filters` must have widths of 1 to {MAX_CHARACTERS} and counts of 1 "
                f"to {_MOST_UNITS:,}. Received: filters={reprlib.repr(given)}"
            )
    return tuple((int(width), int(count)) for width, count in given)


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        # An integer that is larger than any float.
        return False


@dataclasses.dataclass(frozen=True)
class ElmoConfig:
    """Everything that decides the shape and the arithmetic of a biLM.

    Args:
        filters: `(width, number of filters)` of each convolution over characters.
        num_highway_layers: highway layers between the convolutions and the
            projection.
        char_embedding_units: size of a character's vector.
        activation: of the convolutions, `"relu"` or `"tanh"`.
        units: size of an LSTM cell.
        projection_units: size of the token embedding and of each LSTM's output;
            a contextual vector has twice as many elements.
        num_layers: biLSTM layers above the token layer.
        cell_clip: bound on every element of the cell state, or `None`.
        projection_clip: bound on every element of the LSTM's output, or `None`.
        skip_connections: whether every LSTM layer but the first adds its input
            to its output.
        dropout: rate while pretraining; not a property of the weights.

    Raises:
        ValueError: a value is not possible.

    Example:

    ```python
    import dataclasses

    config = keras_elmo.ElmoConfig.preset("tiny")
    wider = dataclasses.replace(config, units=128)
    encoder = keras_elmo.build_encoder(wider)
    print(encoder.count_params() == wider.num_weights)  # True
    ```

    Reference: Peters et al. 2018, section 3.4; Kim et al. 2016 for the characters.
    """

    filters: _Filters = _PUBLISHED_FILTERS
    num_highway_layers: int = 1
    char_embedding_units: int = 16
    activation: str = "relu"
    units: int = 4096
    projection_units: int = 512
    num_layers: int = 2
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0
    skip_connections: bool = True
    dropout: float = 0.1

    def __post_init__(self) -> None:
        # JSON has lists and no numbers of NumPy: a config holds tuples and Python's
        # numbers, is hashable, and can be written.
        object.__setattr__(self, "filters", _filters(self.filters))
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not _is_integer(value) or not least <= value <= most:
                _refuse(name, f"an integer of {least} to {most:,}", value)
            object.__setattr__(self, name, int(value))
        for name in ("cell_clip", "projection_clip"):
            clip = getattr(self, name)
            if clip is not None and not (_is_number(clip) and clip > 0):
                _refuse(name, "a positive number or None", clip)
            object.__setattr__(self, name, clip and float(clip))
        if self.activation not in ("relu", "tanh"):
            _refuse("activation", "'relu' or 'tanh'", self.activation)
        if not isinstance(self.skip_connections, bool):
            _refuse("skip_connections", "True or False", self.skip_connections)
        if not (_is_number(self.dropout) and 0 <= self.dropout < 1):
            _refuse("dropout", "at least 0 and below 1", self.dropout)
        object.__setattr__(self, "dropout", float(self.dropout))

    @property
    def num_weights(self) -> int:
        """The number of weights of an encoder."""
        features = sum(count for _, count in self.filters)
        characters = NUM_CHARACTERS * self.char_embedding_units + sum(
            (width * self.char_embedding_units + 1) * count
            for width, count in self.filters
        )
        highways = self.num_highway_layers * 2 * (features + 1) * features
        projection = (features + 1) * self.projection_units
        if features == self.projection_units:
            projection = 0
        gates = (2 * self.projection_units + 1) * 4 * self.units
        direction = self.num_layers * (gates + self.units * self.projection_units)
        return characters + highways + projection + 2 * direction

    @classmethod
    def preset(cls, name: str) -> "ElmoConfig":
        """Returns the sizes of a preset.

        Args:
            name: `"tiny"` or `"mini"`, which modest hardware trains, or a published
                size: `"small"`, `"medium"`, `"original"`.

        Raises:
            ValueError: there is no such preset.
        """
        if name not in PRESETS:
            raise ValueError(
                f"`name` must be one of {', '.join(PRESETS)}. Received: name={name!r}"
            )
        return PRESETS[name]

    @classmethod
    def from_options(cls, options: StrPath | Mapping[str, object]) -> "ElmoConfig":
        """Reads the options.json that accompanies published weights.

        Args:
            options: path of the file, or its parsed content.

        Raises:
            ValueError: it is not JSON, lacks a key, or holds a value that no biLM
                can have; the message names the file and the key.
        """
        where = "options"
        if not isinstance(options, Mapping):
            where = os.fspath(options)
            options = read_json_object(where)
        found = options

        def read(*keys: str, **fallback: object) -> Any:
            value: object = found
            for key in keys:
                if not isinstance(value, Mapping) or key not in value:
                    if "default" in fallback:
                        return fallback["default"]
                    raise ValueError(f"{where}: lacks the key {'.'.join(keys)}")
                value = value[key]
            return value

        num_characters = read("char_cnn", "n_characters")
        if num_characters not in (261, 262):
            # 261 while the file's model was in training, 262 with the mask.
            raise ValueError(
                f"{where}: char_cnn.n_characters must be 261 or 262. "
                f"Received: {reprlib.repr(num_characters)}"
            )
        max_characters = read("char_cnn", "max_characters_per_token")
        if max_characters != MAX_CHARACTERS:
            raise ValueError(
                f"{where}: char_cnn.max_characters_per_token must be "
                f"{MAX_CHARACTERS}. Received: {reprlib.repr(max_characters)}"
            )
        try:
            return cls(
                filters=read("char_cnn", "filters"),
                num_highway_layers=read("char_cnn", "n_highway", default=0) or 0,
                char_embedding_units=read("char_cnn", "embedding", "dim"),
                activation=read("char_cnn", "activation"),
                units=read("lstm", "dim"),
                projection_units=read("lstm", "projection_dim"),
                num_layers=read("lstm", "n_layers"),
                cell_clip=read("lstm", "cell_clip", default=None),
                projection_clip=read("lstm", "proj_clip", default=None),
                skip_connections=read("lstm", "use_skip_connections", default=False),
                dropout=read("dropout", default=0.1),
            )
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{where}: {str(error).removeprefix(where + ': ')}"
            ) from error

    def to_options(self) -> Config:
        """Returns the content of an options.json that describes this model."""
        return {
            "bidirectional": True,
            "char_cnn": {
                "activation": self.activation,
                "embedding": {"dim": self.char_embedding_units},
                "filters": [list(pair) for pair in self.filters],
                "max_characters_per_token": MAX_CHARACTERS,
                "n_characters": NUM_CHARACTERS,
                "n_highway": self.num_highway_layers,
            },
            "dropout": self.dropout,
            "lstm": {
                "cell_clip": self.cell_clip,
                "dim": self.units,
                "n_layers": self.num_layers,
                "proj_clip": self.projection_clip,
                "projection_dim": self.projection_units,
                "use_skip_connections": self.skip_connections,
            },
        }


# Two sizes for modest hardware, then the three published ones
# (https://allenai.org/allennlp/software/elmo).
PRESETS = {
    "tiny": ElmoConfig(
        filters=((1, 16), (2, 16), (3, 32), (4, 32)), units=64, projection_units=32
    ),
    "mini": ElmoConfig(filters=_PUBLISHED_FILTERS[:5], units=512, projection_units=128),
    "small": ElmoConfig(units=1024, projection_units=128),
    "medium": ElmoConfig(units=2048, projection_units=256),
    "original": ElmoConfig(units=4096, projection_units=512, num_highway_layers=2),
}
