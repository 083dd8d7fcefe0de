"""A `.keras` file is read by Keras, which runs no code of it unless it is told to.

Its rules are Keras's own. They are tried here with this package imported, whose classes
a file may name.
"""

import io
import json
import os
import sys
import zipfile

import h5py
import keras
import numpy as np
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


LAYERS = {
    "a command": {"module": "os", "class_name": "system", "config": "touch ran"},
    "a function": {"module": "builtins", "class_name": "function", "config": "eval"},
    "a module": {"module": "antigravity", "class_name": "Layer", "config": {}},
    "an exported model": {
        "module": "keras.layers",
        "class_name": "TFSMLayer",
        "config": {"filepath": "model", "call_endpoint": "default", "name": "a"},
    },
    "a download": {
        "module": "keras.utils",
        "class_name": "get_file",
        "config": {"origin": "file:///etc/hostname"},
    },
}


REFUSED = {
    "an exported model": "deserialization of a `TFSMLayer`, .* disallowed by default",
    "a download": "`keras.utils.get_file` because it is not a modeling function",
}


def test_sound_file(load):
    """The unchanged file is loaded."""
    assert len(load({}).layers) == 3


def test_lambda(load, members, tmp_path):
    """A lambda is refused."""
    ran = tmp_path / "ran"

    def change(layer):
        layer.update(touching(ran))

    with pytest.raises(ValueError, match="Lambda"):
        load(config_with(members, "Dense", change))
    assert not ran.exists()


@pytest.mark.parametrize("layer", LAYERS)
def test_not_a_layer(layer, load, members, tmp_path, monkeypatch):
    """Functions and classes that are not layers are refused."""
    monkeypatch.chdir(tmp_path)

    def change(description):
        description.update(LAYERS[layer], registered_name=None)

    said = REFUSED.get(layer, "could not be deserialized properly")
    with pytest.raises((ValueError, TypeError), match=said):
        load(config_with(members, "Dense", change))
    assert not (tmp_path / "ran").exists()
    assert "antigravity" not in sys.modules


OPTIONS = CONFIG.to_options()
# Where our own layer looks something up.
ARGUMENTS = {
    "a regularizer": (
        "mix_regularizer",
        {**LAYERS["a command"]},
        "`mix_regularizer` must be a Keras regularizer or None",
    ),
    "a regularizer by name": (
        "mix_regularizer",
        "os.system",
        "`mix_regularizer` must be a Keras regularizer or None",
    ),
    "a dtype": ("dtype", {**LAYERS["a command"]}, "Cannot convert 'system' to"),
    "an encoder": (
        "encoder",
        {"options": "/etc/passwd"},
        "`options` must be a dictionary",
    ),
    "an encoder's dtype": (
        "encoder",
        {"options": OPTIONS, "dtype": {**LAYERS["a command"]}},
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


def test_member_names(load, tmp_path):
    """Members named like paths outside are not written."""
    with pytest.warns(UserWarning, match="Skipping invalid path"):
        load({"../outside.txt": "x", f"{tmp_path.parent}/outside.txt": "x"})
    assert not (tmp_path.parent / "outside.txt").exists()


def external_link(group, name, folder):
    with h5py.File(folder / "secret.hdf5", "w") as file:
        file["secret"] = np.ones((14, 2), "float32")
    group[name] = h5py.ExternalLink(str(folder / "secret.hdf5"), "secret")


def external_storage(group, name, folder):
    (folder / "secret.bin").write_bytes(b"s" * 112)
    where = [(str(folder / "secret.bin"), 0, 112)]
    group.create_dataset(name, (14, 2), "float32", external=where)


def huge(group, name, folder):
    group.create_dataset(name, (10**6, 10**6), "float32", chunks=(1000, 1000))


@pytest.mark.parametrize("change", [external_link, external_storage, huge])
def test_weights_elsewhere(change, load, members, tmp_path):
    """Weights in other files are refused."""
    content = io.BytesIO(members["model.weights.h5"])
    with h5py.File(content, "r+") as file:
        group = file["layers/dense/vars"]
        del group["0"]
        change(group, "0", tmp_path)
    with pytest.raises(ValueError, match="could not be loaded"):
        load({"model.weights.h5": content.getvalue()})
