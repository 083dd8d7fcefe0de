"""`import keras_elmo` loads little; names that it promises are there when asked for."""

import ast
import pickle
import tomllib
from pathlib import Path

import keras
import pytest

import keras_elmo
from tests.helpers.fresh_process import ROOT, run_python
from tests.helpers.installed import require_installed
from tests.helpers.small import random_encoder

HEAVY = ("jax", "keras", "matplotlib", "numpy", "rich", "tensorflow", "torch")


def in_fresh_process(code, cwd, **variables):
    return run_python("-W", "error", "-c", code, cwd=cwd, **variables).split()


def test_import_loads_no_backend(tmp_path):
    """Nor another package that takes long; neither does the list of models."""
    code = f"""
import sys
import keras_elmo
keras_elmo.list_models()
print([name for name in {HEAVY} if name in sys.modules])
"""
    assert in_fresh_process(code, tmp_path) == ["[]"]


FIRST_VECTORS = """
import sys

# Keras and TensorFlow import them where they are.
sys.modules |= dict.fromkeys(["jax", "matplotlib", "pandas", "sklearn", "torch"])
import keras

def packages():
    return {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names

before = packages()
import keras_elmo
encoder = keras_elmo.load("model")
next(keras_elmo.embed(encoder, [["the", "bank"]]))
keras_elmo.ElmoEmbedding(encoder)(keras_elmo.CharacterIds()([["the", "bank"]]))
print(*(packages() - before))
"""


@pytest.mark.graph
def test_the_first_vectors_import_no_more_than_keras(tmp_path):
    """Nor need they what these import where it is, which takes most of the time."""
    (tmp_path / "model").mkdir()
    files = (tmp_path / "model" / name for name in ("options.json", "weights.hdf5"))
    keras_elmo.save_published_weights(random_encoder(), *files)
    added = run_python("-c", FIRST_VECTORS, cwd=tmp_path).split()
    assert {"keras_elmo"} <= set(added) <= {"keras_elmo", "lazy_loader", "h5py"}


def test_version_is_that_of_the_distribution():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "keras_elmo/__init__.py"
    assert keras_elmo.__version__.count(".") == 2


def test_type_checkers_are_told():
    assert (Path(keras_elmo.__file__).parent / "py.typed").exists()
    tree = ast.parse(Path(keras_elmo.__file__ + "i").read_text(encoding="utf-8"))
    reexported = {
        alias.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }
    assert reexported == set(keras_elmo.__all__)


def test_plots_is_an_attribute(tmp_path):
    code = "import keras_elmo; print(keras_elmo.plots.plot_history.__name__)"
    assert in_fresh_process(code, tmp_path) == ["plot_history"]


@pytest.mark.parametrize("name", sorted(set(keras_elmo.__all__) - {"plots", "sklearn"}))
def test_public_name_loads_and_pickles(name):
    found = getattr(keras_elmo, name)
    assert found.__name__ == name
    assert found.__doc__
    assert pickle.loads(pickle.dumps(found)) is found


def test_dir_lists_public_names():
    assert set(dir(keras_elmo)) >= set(keras_elmo.__all__)
    with pytest.raises(AttributeError, match="embeddings"):
        keras_elmo.embeddings  # noqa: B018


# What `.keras` files of models for tasks may name.
REGISTERED = [
    *("BiLM", "CRF", "CRFDecode", "CRFLoss", "CharCNNEmbedding", "CharacterIds"),
    *("CharacterMask", "ElmoEmbedding", "Encoder", "Highway", "LanguageModelHead"),
    *("PretrainingModel", "ProjectedLSTM", "SampledSoftmax", "ScalarMix"),
    *("StaticEmbedding", "Tagger", "TextClassifier"),
    *("TokenMask", "Tokenizer", "VocabularyEmbedding"),
]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_keras_finds_classes_by_name(backend, tmp_path):
    """`load_model` needs one name of the package, whichever, before Keras or after."""
    require_installed(backend)
    ids = keras.Input((None, 50), dtype="int32")
    outputs = keras_elmo.ElmoEmbedding(random_encoder())(ids)
    keras.Model(ids, outputs).save(tmp_path / "model.keras")
    code = """
from keras_elmo import StaticEmbedding
import keras
print(*sorted(keras.saving.get_custom_objects()))
model = keras.saving.load_model("model.keras")
print(type(model.layers[-1]).__name__)
import sys
print("tensorflow" in sys.modules)
"""
    output = in_fresh_process(code, tmp_path, KERAS_BACKEND=backend)
    *registered, loaded, has_tensorflow = output
    assert registered == [f"keras_elmo>{name}" for name in REGISTERED]
    assert loaded == "ElmoEmbedding"
    assert (has_tensorflow == "True") == (backend == "tensorflow")
