"""What is read back of an exported SavedModel: the layer, the language model."""

import os
import shutil

import h5py
import numpy as np
import pytest

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.finding import ASSETS, is_saved_model
from keras_elmo.files.loading import load, load_language_model
from keras_elmo.training.perplexity import perplexity
from tests.helpers.exports import (
    LENGTHS,
    TOKENS,
    embedding,
    export_weights,
    in_memory,
)
from tests.helpers.layer_checks import numpy_of
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import CONFIG, write_text
from tests.helpers.small import CONFIG as SMALL
from tests.helpers.small import assert_same_weights, char_ids

pytestmark = pytest.mark.graph

WORDS = ["<S>", "</S>", "<UNK>", "the", "of", "Ann", "bank", "."]


@pytest.fixture(scope="module")
def layer():
    return embedding()


@pytest.fixture(scope="module")
def folder(layer, tmp_path_factory):
    path = tmp_path_factory.mktemp("layer") / "export"
    export_weights(layer, path)
    return path


def test_from_saved_model_arguments(folder, layer):
    wanted = in_memory(layer)["elmo"]
    rebuilt = ElmoEmbedding.from_saved_model(
        folder, num_representations=2, keep_boundaries=True, dropout=0.5
    )
    for actual in numpy_of(rebuilt(char_ids(TOKENS))):
        for row, length in enumerate(LENGTHS):
            np.testing.assert_allclose(
                actual[row, 1 : length + 1], wanted[row, :length], atol=1e-5
            )
    assert len(rebuilt.trainable_weights) == 4


def test_load(folder, layer):
    encoder = load(folder)
    assert encoder.config == SMALL
    assert_same_weights(encoder.weights, layer.encoder.weights)
    assert not encoder.trainable_weights


def copied(folder, to, without):
    """The files of an export, but for some."""
    ignore = shutil.ignore_patterns(without)
    shutil.copytree(folder, to, ignore=ignore, dirs_exist_ok=True)


def test_not_an_export(folder, tmp_path):
    with pytest.raises(ValueError, match="holds no model; `path` must be"):
        ElmoEmbedding.from_saved_model(tmp_path)
    # A SavedModel of somebody else's.
    copied(folder, tmp_path, "assets.extra")
    assert not is_saved_model(tmp_path)
    with pytest.raises(ValueError, match="import it with `keras-elmo import`"):
        ElmoEmbedding.from_saved_model(str(tmp_path))


@pytest.mark.parametrize("missing", ["variables", "variables.index", "variables.data*"])
def test_missing_variables(missing, folder, tmp_path):
    copied(folder, tmp_path, missing)
    with pytest.raises(ValueError, match=r"/variables/variables(\.data-\*|\.index)?: "):
        ElmoEmbedding.from_saved_model(tmp_path)


# === The language model ===


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_pretrained(
        tmp_path_factory.mktemp("pretrained") / "run", CONFIG, WORDS
    )


@pytest.fixture(scope="module")
def exported(directory, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "model"
    export_weights(directory.path, path, "whitespace", language_model=True)
    return path


@pytest.fixture
def damaged(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "damaged")


@pytest.mark.usefixtures("eagerly")
def test_language_model_predictions(directory, exported, tmp_path):
    text = write_text(tmp_path / "text.txt")
    wanted, actual = (perplexity(path, text) for path in (directory.path, exported))
    # The softmax is stored in half precision.
    assert actual == pytest.approx(wanted, rel=1e-3)


def test_language_model_exported_again(exported, tmp_path):
    export_weights(exported, tmp_path / "again", language_model=True)
    wanted, actual = map(load_language_model, (exported, tmp_path / "again"))
    assert actual.vocabulary.words == WORDS
    for ours, theirs in zip(actual.weights, wanted.weights, strict=True):
        if "seed" not in ours.path:
            np.testing.assert_array_equal(numpy_of(ours), numpy_of(theirs))


def test_no_language_model(directory, tmp_path):
    export_weights(directory.path, tmp_path / "encoder")
    with pytest.raises(ValueError, match="encoder: holds an encoder but no language"):
        load_language_model(tmp_path / "encoder")
    with pytest.raises(ValueError, match="encoder: holds an encoder but no language"):
        export_saved_model(
            tmp_path / "encoder", tmp_path / "again", None, language_model=True
        )
    assert not os.path.exists(tmp_path / "again")


def test_encoder_has_no_language_model(exported, tmp_path):
    encoder = load(exported)
    with pytest.raises(TypeError, match="`source` must be a language model"):
        export_saved_model(encoder, tmp_path / "again", None, language_model=True)
    assert not os.path.exists(tmp_path / "again")


def test_damaged_softmax(damaged):
    softmax = damaged / ASSETS / "softmax.hdf5"
    content = softmax.read_bytes()
    softmax.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="softmax.hdf5: not a readable HDF5 file"):
        load_language_model(damaged)
    softmax.unlink()
    with pytest.raises(FileNotFoundError, match="softmax.hdf5: no such file"):
        load_language_model(damaged)


def test_wrong_vocabulary(damaged):
    vocabulary = damaged / ASSETS / "vocabulary.txt"
    vocabulary.write_text("\n".join(WORDS[:-1]) + "\n")
    with pytest.raises(ValueError, match=r"softmax/W has the shape \(8, .*vocabulary"):
        load_language_model(damaged)
    # More rows than the file could hold are refused before any is made.
    words = [*WORDS, *(f"w{k}" for k in range(100_000))]
    vocabulary.write_text("\n".join(words) + "\n")
    with pytest.raises(ValueError, match="too few for the"):
        load_language_model(damaged)


def test_softmax_is_float16(exported):
    with h5py.File(exported / ASSETS / "softmax.hdf5") as file:
        assert {file[f"softmax/{name}"].dtype.name for name in "Wb"} == {"float16"}
