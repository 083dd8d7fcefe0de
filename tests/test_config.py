"""The sizes of a model: the presets of the documentation, and options.json."""

import copy
import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.files import finding
from keras_elmo.files.loading import open_model
from keras_elmo.models.encoder import build_encoder
from tests.helpers import numpy_reference
from tests.helpers.looked_up import VOCABULARY

SEVEN_WIDTHS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))

# name: filters, highway layers, LSTM units, projection
PRESETS = {
    "tiny": (((1, 16), (2, 16), (3, 32), (4, 32)), 1, 64, 32),
    "mini": (SEVEN_WIDTHS[:5], 1, 512, 128),
    "small": (SEVEN_WIDTHS, 1, 1024, 128),
    "medium": (SEVEN_WIDTHS, 1, 2048, 256),
    "original": (SEVEN_WIDTHS, 2, 4096, 512),
}
SHIPPED = ("elmo-en", "elmo-ko")
MILLIONS = {"tiny": 0.1, "mini": 3.0, "small": 13.6, "medium": 28.0, "original": 93.6}


@pytest.mark.parametrize("name", PRESETS)
def test_preset_sizes(name):
    """The documented sizes, and as many weights as a published file has."""
    config = ElmoConfig.preset(name)
    shapes = numpy_reference.published_shapes(config.to_options())
    published = sum(math.prod(shape) for shape in shapes.values())
    assert round(published / 1e6, 1) == MILLIONS[name]
    # The file has no row for the masked position.
    assert config.num_weights == published + config.char_embedding_units
    sizes = (config.filters, config.num_highway_layers)
    sizes += (config.units, config.projection_units)
    assert sizes == PRESETS[name]
    assert config.num_layers == 2
    assert config.skip_connections
    assert (config.cell_clip, config.projection_clip) == (3, 3)
    assert (config.char_embedding_units, config.activation) == (16, "relu")
    assert config.dropout == 0.1


@pytest.mark.parametrize("name", SHIPPED)
def test_presets_of_shipped_models(name):
    """Their sizes, and those that their training scripts read."""
    config = ElmoConfig.preset(name)
    assert config == open_model(name).describe()["config"]
    language = name.removeprefix("elmo-")
    saved = Path(finding.SHIPPED, f"options_{language}.json")
    assert config == ElmoConfig.from_options(saved)


@pytest.mark.parametrize(
    "sizes", [{"num_layers": 3, "num_highway_layers": 0}, {"projection_units": 96}]
)
def test_num_weights(sizes):
    """It is the number of weights of the encoder."""
    config = dataclasses.replace(ElmoConfig.preset("tiny"), **sizes)
    assert config.num_weights == build_encoder(config).count_params()


def test_unknown_preset():
    with pytest.raises(ValueError, match="original.*Received: name='huge'"):
        ElmoConfig.preset("huge")


def test_frozen_and_hashable():
    config = ElmoConfig.preset("tiny")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.units = 1
    assert hash(config) == hash(ElmoConfig.preset("tiny"))
    assert config == dataclasses.replace(
        config, filters=[list(f) for f in config.filters]
    )


def test_unknown_argument():
    with pytest.raises(TypeError, match="number_of_units"):
        ElmoConfig(number_of_units=3)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("filters", ()),
        ("filters", ((0, 4),)),
        ("filters", ((51, 4),)),
        ("filters", ((1, 0),)),
        ("num_highway_layers", -1),
        ("char_embedding_units", 0),
        ("units", 0),
        ("projection_units", 0),
        ("num_layers", 0),
        ("cell_clip", 0.0),
        ("projection_clip", -3.0),
        ("activation", "gelu"),
        ("dropout", 1.0),
        ("dropout", -0.1),
        ("cell_clip", 10**400),
    ],
)
def test_bad_values(argument, value):
    """The message names the argument and the value."""
    with pytest.raises(ValueError, match=rf"`{argument}` must .*Received: {argument}="):
        ElmoConfig(**{argument: value})


def test_more_weights_than_any_memory():
    """Each size alone is possible."""
    assert ElmoConfig(units=1 << 20, projection_units=64).num_weights < 1 << 34
    with pytest.raises(ValueError, match="at most 17,179,869,184 weights. Received: "):
        ElmoConfig(units=1 << 20, projection_units=1 << 20)


# ---------------------------------------------------------------- options.json


def test_numpy_numbers():
    """They can be written as JSON."""
    sizes = {"units": np.int64(9), "filters": ((np.int32(1), np.int64(2)),)}
    config = ElmoConfig(**sizes, dropout=np.float32(0.5), cell_clip=np.float32(2))
    written = json.dumps(config.to_options())
    assert ElmoConfig.from_options(json.loads(written)) == config


def test_every_field_round_trips(tmp_path):
    """As a dictionary and as a file, by its path of either type."""
    config = ElmoConfig(
        filters=((2, 3), (7, 5)),
        num_highway_layers=0,
        char_embedding_units=9,
        activation="tanh",
        units=11,
        projection_units=13,
        num_layers=3,
        cell_clip=None,
        projection_clip=5.0,
        skip_connections=False,
        dropout=0.25,
        word_embedding_units=4,
        token_vocabulary=VOCABULARY,
    )
    defaults = ElmoConfig()
    for field in dataclasses.fields(ElmoConfig):
        assert getattr(config, field.name) != getattr(defaults, field.name)
    path = tmp_path / "options.json"
    path.write_text(json.dumps(config.to_options()), encoding="utf-8")
    for options in (config.to_options(), path, str(path)):
        assert ElmoConfig.from_options(options) == config


@pytest.mark.parametrize("count", [261, 262])
def test_character_counts(count):
    """261 and 262 are read, 262 is written."""
    options = ElmoConfig.preset("tiny").to_options()
    options["char_cnn"]["n_characters"] = count
    config = ElmoConfig.from_options(options)
    assert config == ElmoConfig.preset("tiny")
    assert config.to_options()["char_cnn"]["n_characters"] == 262


@pytest.mark.parametrize("key", ["n_characters", "max_characters_per_token"])
def test_other_alphabet(key):
    options = ElmoConfig.preset("tiny").to_options()
    options["char_cnn"][key] = 60
    with pytest.raises(ValueError, match=rf"char_cnn\.{key} must be .* Received: 60"):
        ElmoConfig.from_options(options)


REQUIRED = [
    ("char_cnn",),
    ("char_cnn", "filters"),
    ("char_cnn", "n_characters"),
    ("char_cnn", "max_characters_per_token"),
    ("char_cnn", "embedding"),
    ("char_cnn", "embedding", "dim"),
    ("char_cnn", "activation"),
    ("lstm",),
    ("lstm", "dim"),
    ("lstm", "projection_dim"),
    ("lstm", "n_layers"),
]


@pytest.mark.parametrize("keys", REQUIRED, ids=".".join)
def test_missing_key(keys, tmp_path):
    """The message names the file and the key."""
    options = copy.deepcopy(ElmoConfig.preset("tiny").to_options())
    parent = options
    for key in keys[:-1]:
        parent = parent[key]
    del parent[keys[-1]]
    path = tmp_path / "options.json"
    path.write_text(json.dumps(options), encoding="utf-8")
    wanted = f"{re.escape(str(path))}.* lacks the key {'.'.join(keys)}"
    with pytest.raises(ValueError, match=wanted):
        ElmoConfig.from_options(path)


def changed(section, key, value):
    options = copy.deepcopy(ElmoConfig.preset("tiny").to_options())
    options[section][key] = value
    return json.dumps(options)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2]",
        "null",
        '{"char_cnn": 3}',
        changed("lstm", "dim", 0),
        changed("lstm", "dim", "many"),
        changed("lstm", "n_layers", None),
        changed("char_cnn", "filters", 7),
        changed("char_cnn", "filters", [[1]]),
        changed("char_cnn", "activation", "gelu"),
    ],
)
def test_damaged_file(text, tmp_path):
    path = tmp_path / "options.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="options.json"):
        ElmoConfig.from_options(path)
