"""An error of a public name is about the argument that is wrong."""

import inspect

import numpy as np
import pytest

import keras_elmo
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from tests.models.small import CONFIG

pytestmark = pytest.mark.graph

WORDS = Vocabulary([*SPECIALS, "bank"])
# What is not under test has these values.
LAYERS = {
    "BiLM": {"units": 4, "projection_units": 3},
    "CharCNNEmbedding": {"filters": [[1, 4]], "projection_units": 3},
    "Highway": {},
    "SampledSoftmax": {"vocabulary_size": 10, "num_sampled": 4},
    "ScalarMix": {},
    "StaticEmbedding": {"words": ["bank"], "units": 2},
    "Tokenizer": {},
    "VocabularyEmbedding": {
        "projection_units": 3,
        "num_words": 3,
        "word_embedding_units": 2,
        "num_characters": 9,
        "filters": [[1, 2]],
    },
}
OTHERS = {
    "Corpus": {"files": "text.txt", "vocabulary": WORDS},
    "ElmoConfig": {},
    "Vocabulary": {"words": WORDS.words},
    "average_models": {"models": ["run"]},
    "build_encoder": {"config": CONFIG},
    "build_pretraining_model": {"config": CONFIG, "vocabulary_size": 9},
    "export_onnx": {"source": "run", "path": "x.onnx"},
    "export_saved_model": {"source": "run", "path": "x"},
    "load": {"name_or_path": "run"},
    "load_language_model": {"name_or_path": "run"},
    "load_published_weights": {"options": "o.json", "weights": "w.hdf5"},
    "import_model": {"source": "elsewhere", "directory": "x"},
    "inspect_model": {"model": "run"},
    "pretrain": {"config": CONFIG, "corpus": "text.txt", "directory": "nowhere"},
}
# Taken for true or false, read where it is used, or no files under this name.
FREE = {"skip_connections", "layer_norm", "trainable", "half_weights"}
FREE |= {"language_model"}
# Of later checks, in other tests.
FREE |= {"corpus", "dtype", "vocabulary"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the bank\n")


@pytest.mark.parametrize("name", [*LAYERS, *OTHERS])
def test_error_names_argument(name, folder):
    public = getattr(keras_elmo, name)
    valid = {**LAYERS, **OTHERS}[name]
    parameters = inspect.signature(public).parameters.values()
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD or parameter.name in FREE:
            continue
        with pytest.raises((TypeError, ValueError)) as raised:
            public(**{**valid, parameter.name: object()})
        assert f"`{parameter.name}`" in str(raised.value), parameter.name


@pytest.mark.parametrize("name", [*LAYERS, "ElmoEmbedding", "Encoder"])
def test_arguments_stay(name):
    """What a layer was made of cannot be changed; what Keras applies can."""
    encoder = keras_elmo.build_encoder(CONFIG)
    public = getattr(keras_elmo, name)
    arguments = LAYERS.get(name, {"encoder": encoder})
    layer = encoder if name == "Encoder" else public(**arguments)
    for parameter in inspect.signature(public).parameters:
        if parameter in vars(layer) and parameter not in ("trainable", "tokenizer"):
            with pytest.raises(AttributeError, match=f"`{parameter}` of {name} must"):
                setattr(layer, parameter, 0.5)
    layer.trainable = False
    assert not layer.trainable


def test_unknown_argument():
    with pytest.raises(TypeError, match=r"^pretrain\(\) got an unexpected .*'stpes'"):
        keras_elmo.pretrain(CONFIG, "text.txt", stpes=3)
    for rate in (-0.1, 1.5, "half", np.nan):
        with pytest.raises(ValueError, match="`dropout` must be a number from 0 to 1"):
            keras_elmo.ElmoEmbedding(keras_elmo.build_encoder(CONFIG), dropout=rate)
