"""A `.keras` file is read by Keras, which runs no code of it unless it is told to.

Its rules are Keras's own; what a file may name of this package keeps to them.
"""

import json
import os
import zipfile

import keras
import pytest

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from tests.helpers.small import CONFIG, random_encoder

pytestmark = [
    pytest.mark.graph,
    pytest.mark.usefixtures("little_memory"),
    # What Keras says besides when a weight cannot be loaded.
    pytest.mark.filterwarnings("ignore:Skipping nested container"),
]


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """The members of a sound file: our layer, and another on top of it."""
    char_ids = keras.Input((None, 50), dtype="int32")
    words = ElmoEmbedding(random_encoder())(char_ids)
    path = tmp_path_factory.mktemp("keras") / "model.keras"
    keras.Model(char_ids, keras.layers.Dense(2)(words)).save(path)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture
def load(members, tmp_path):
    """Loads a file with some members replaced or added."""

    def load(changes):
        path = tmp_path / "spoilt.keras"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in {**members, **changes}.items():
                file.writestr(name, content)
        return keras.models.load_model(path)

    return load


def config_with(members, class_name, change):
    """The config with one layer's description changed."""
    config = json.loads(members["config.json"])
    layers = config["config"]["layers"]
    (layer,) = (layer for layer in layers if layer["class_name"] == class_name)
    change(layer)
    return {"config.json": json.dumps(config)}


def touching(path):
    """A Lambda layer that runs a command."""
    command = f"touch {path}"
    layer = keras.layers.Lambda(lambda x: os.system(command) or x)
    return keras.saving.serialize_keras_object(layer)


COMMAND = {"module": "os", "class_name": "system", "config": "touch ran"}


def test_lambda(load, members, tmp_path):
    ran = tmp_path / "ran"

    def change(layer):
        layer.update(touching(ran))

    with pytest.raises(ValueError, match="Lambda"):
        load(config_with(members, "Dense", change))
    assert not ran.exists()


OPTIONS = CONFIG.to_options()
# Where our own layer looks something up.
ARGUMENTS = {
    "a regularizer": (
        "mix_regularizer",
        COMMAND,
        "`mix_regularizer` must be a Keras regularizer or None",
    ),
    "a regularizer by name": (
        "mix_regularizer",
        "os.system",
        "`mix_regularizer` must be a Keras regularizer or None",
    ),
    "a dtype": ("dtype", COMMAND, "Cannot convert 'system' to"),
    "an encoder": (
        "encoder",
        {"options": "/etc/passwd"},
        "options must be a JSON object",
    ),
    "an encoder's dtype": (
        "encoder",
        {"options": OPTIONS, "dtype": COMMAND},
        "Cannot convert 'system' to",
    ),
    "an encoder without end": (
        "encoder",
        {"options": {**OPTIONS, "lstm": {**OPTIONS["lstm"], "dim": 10**12}}},
        "`units` must be an integer of 1 to",
    ),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_arguments_of_elmo_embedding(argument, load, members, tmp_path, monkeypatch):
    """ElmoEmbedding's arguments run and read nothing either."""
    monkeypatch.chdir(tmp_path)
    name, value, said = ARGUMENTS[argument]

    def change(layer):
        layer["config"][name] = value

    with pytest.raises((ValueError, TypeError), match=said):
        load(config_with(members, "ElmoEmbedding", change))
    assert not (tmp_path / "ran").exists()
