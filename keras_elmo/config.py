"""The sizes of a model, by name, by hand, or from a published options.json."""

import dataclasses
import os
import reprlib
from collections.abc import Mapping
from functools import partial

from keras_elmo.token_vocabulary import TokenVocabulary
from keras_elmo.utils.checks import (
    MOST_LAYERS,
    MOST_UNITS,
    check_choice,
    check_path,
    checked_filters,
    is_integer,
    is_number,
    refuse,
)
from keras_elmo.utils.files import read_json_object, read_key
from keras_elmo.utils.types import Config, StrPath

# The published models' alphabet: ids of one word, and how many ids there are
# (256 bytes, 5 boundary and padding ids, and 0 for a masked position).
MAX_CHARACTERS = 50
# Bytes of a word; its beginning and its end take the other two.
MAX_BYTES = MAX_CHARACTERS - 2
NUM_CHARACTERS = 262
# The kinds of `Tokenizer`.
TOKENIZERS = ("unicode", "whitespace", "published", "treebank")
# Of models that do not name theirs, as the published ones, whose text was tokenized.
TOKENIZER_IF_UNKNOWN = "whitespace"

_MOST_WEIGHTS = 1 << 34
_RANGES = {
    "num_highway_layers": (0, MOST_LAYERS),
    "char_embedding_units": (1, MOST_UNITS),
    "units": (1, MOST_UNITS),
    "projection_units": (1, MOST_UNITS),
    "num_layers": (1, MOST_LAYERS),
    "word_embedding_units": (0, MOST_UNITS),
}
_Filters = tuple[tuple[int, int], ...]
_PUBLISHED_FILTERS: _Filters = (*enumerate((32, 32, 64, 128, 256, 512, 1024), 1),)
_ENGLISH: _Filters = (*_PUBLISHED_FILTERS[:5], (6, 256))
# A letter of Hangul has three bytes.
_KOREAN: _Filters = (*enumerate((32, 32, 128, 64, 64, 192, 64), 1), (9, 192))


def _filters(filters: object, vocabulary: TokenVocabulary | None) -> _Filters:
    if vocabulary is None:
        return checked_filters(filters, widest=MAX_CHARACTERS)
    if not isinstance(vocabulary, TokenVocabulary):
        refuse("token_vocabulary", "a TokenVocabulary or None", vocabulary)
    if vocabulary.characters:
        return checked_filters(filters, widest=vocabulary.max_characters or 0)
    return refuse("filters", "empty: words alone", filters) if filters else ()


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
        word_embedding_units: size of a word's vector, of a model that looks words up.
        token_vocabulary: the `TokenVocabulary` of a model that looks words and Unicode
            characters up; `None`, as published, for the bytes of UTF-8.

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
    word_embedding_units: int = 0
    token_vocabulary: TokenVocabulary | None = None

    def __post_init__(self) -> None:
        # JSON has lists and no numbers of NumPy: a config holds tuples and Python's
        # numbers, is hashable, and can be written.
        vocabulary = self.token_vocabulary
        object.__setattr__(self, "filters", _filters(self.filters, vocabulary))
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not is_integer(value) or not least <= value <= most:
                refuse(name, f"an integer of {least} to {most:,}", value)
            object.__setattr__(self, name, int(value))
        for name in ("cell_clip", "projection_clip"):
            clip = getattr(self, name)
            if clip is not None and not (is_number(clip) and clip > 0):
                refuse(name, "a positive number or None", clip)
            object.__setattr__(self, name, clip and float(clip))
        if bool(self.word_embedding_units) != bool(vocabulary and vocabulary.words):
            rule = f"positive if, and only if, there are words, of {vocabulary}"
            refuse("word_embedding_units", rule, self.word_embedding_units)
        check_choice(("relu", "tanh"), activation=self.activation)
        if not isinstance(self.skip_connections, bool):
            refuse("skip_connections", "True or False", self.skip_connections)
        if not (is_number(self.dropout) and 0 <= self.dropout < 1):
            refuse("dropout", "at least 0 and below 1", self.dropout)
        object.__setattr__(self, "dropout", float(self.dropout))
        if self.num_weights > _MOST_WEIGHTS:
            raise ValueError(
                f"the sizes must make at most {_MOST_WEIGHTS:,} weights. "
                f"Received: {self.num_weights:,}, with units={self.units}, "
                f"projection_units={self.projection_units}"
            )

    @property
    def ids_per_token(self) -> int:
        """The number of ids by which an encoder is given a token."""
        vocabulary = self.token_vocabulary
        return MAX_CHARACTERS if vocabulary is None else vocabulary.ids_per_token

    @property
    def num_weights(self) -> int:
        """The number of weights of an encoder."""
        features = sum(count for _, count in self.filters)
        rows, words = NUM_CHARACTERS, 0
        if self.token_vocabulary is not None:
            rows = bool(self.filters) * (len(self.token_vocabulary.characters) + 1)
            words = len(self.token_vocabulary.words)
        characters = rows * self.char_embedding_units + sum(
            (width * self.char_embedding_units + 1) * count
            for width, count in self.filters
        )
        characters += words * self.word_embedding_units
        highways = self.num_highway_layers * 2 * (features + 1) * features
        inputs = features + self.word_embedding_units
        projection = (inputs + 1) * self.projection_units
        if inputs == self.projection_units and not (self.token_vocabulary and features):
            projection = 0
        gates = (2 * self.projection_units + 1) * 4 * self.units
        direction = self.num_layers * (gates + self.units * self.projection_units)
        return characters + highways + projection + 2 * direction

    @classmethod
    def preset(cls, name: str) -> "ElmoConfig":
        """Returns the sizes of a preset.

        Args:
            name: `"tiny"` or `"mini"`, which modest hardware trains; a published size,
                `"small"`, `"medium"` or `"original"`; or a shipped model, `"elmo-en"`
                or `"elmo-ko"`, whose sizes are taken and no weights.

        Raises:
            ValueError: there is no such preset.
        """
        # A list, because what is no name may have no hash.
        if name not in list(PRESETS):
            refuse("name", f"one of {', '.join(PRESETS)}", name)
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
        if isinstance(options, Mapping):
            return read_options(options, "options")
        check_path(options=options)
        where = os.fspath(options)
        return read_options(read_json_object(where), where)

    def to_options(self) -> Config:
        """Returns the content of an options.json that describes this model."""
        ids: Config = {"max_characters_per_token": MAX_CHARACTERS}
        ids["n_characters"] = NUM_CHARACTERS
        words: Config = {}
        if self.token_vocabulary is not None:
            ids = {}
            words["word_embedding"] = {"dim": self.word_embedding_units}
            words["token_vocabulary"] = self.token_vocabulary.to_dict()
        return {
            "bidirectional": True,
            "char_cnn": {
                "activation": self.activation,
                "embedding": {"dim": self.char_embedding_units},
                "filters": [list(pair) for pair in self.filters],
                **ids,
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
            **words,
        }


def read_options(options: object, where: str) -> ElmoConfig:
    """Returns the sizes that parsed JSON holds; an error begins with `where`.

    Unlike `ElmoConfig.from_options`, it takes no string for the path of a file.
    """
    if not isinstance(options, Mapping):
        raise ValueError(
            f"{where}: options must be a JSON object. Received: {reprlib.repr(options)}"
        )
    read = partial(read_key, options, where)
    vocabulary = read("token_vocabulary", default=None)
    # 261 while the file's model was in training, 262 with the mask.
    rules = {"n_characters": (261, 262), "max_characters_per_token": (50,)}
    for key, values in rules.items() if vocabulary is None else ():
        number, rule = read("char_cnn", key), " or ".join(map(str, values))
        if number not in values:
            raise ValueError(
                f"{where}: char_cnn.{key} must be {rule}. "
                f"Received: {reprlib.repr(number)}"
            )
    try:
        if vocabulary is not None:
            vocabulary = TokenVocabulary.from_dict(vocabulary)
        return ElmoConfig(
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
            word_embedding_units=read("word_embedding", "dim", default=0),
            token_vocabulary=vocabulary,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {str(error).removeprefix(where + ': ')}") from error


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
    "elmo-en": ElmoConfig(_ENGLISH, units=1024, projection_units=256, dropout=0.0),
    "elmo-ko": ElmoConfig(_KOREAN, units=512, projection_units=256, dropout=0.0),
}
