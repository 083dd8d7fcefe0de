"""The softmax and the words that an exported model keeps beside its encoder."""

import os
import shutil

import h5py
import numpy as np
import pytest

from keras_elmo.explore.substitutes import substitutes
from keras_elmo.files.export import export_saved_model
from keras_elmo.files.loading import load, load_language_model
from keras_elmo.files.saved_model import ASSETS
from keras_elmo.training.perplexity import perplexity
from keras_elmo.training.warm_start import WarmStart
from tests.files.pretrained import model_of, write_pretrained
from tests.layers.layer_checks import numpy_of
from tests.training.runs import CONFIG, write_text

WORDS = ["<S>", "</S>", "<UNK>", "the", "of", "Ann", "bank", "."]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_pretrained(
        tmp_path_factory.mktemp("pretrained") / "run", CONFIG, WORDS
    )


@pytest.fixture(scope="module")
def exported(directory, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "model"
    export_saved_model(directory.path, path, "whitespace", language_model=True)
    return path


@pytest.fixture
def damaged(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "damaged")


def test_it_predicts_what_it_did(directory, exported, tmp_path):
    text = write_text(tmp_path / "text.txt")
    wanted, found = (perplexity(path, text) for path in (directory.path, exported))
    # The softmax is stored in half precision.
    assert found == pytest.approx(wanted, rel=1e-3)
    sentence = ["the", "bank", "of", "Ann", "."]
    wanted, found = (
        substitutes(path, sentence, position=1) for path in (directory.path, exported)
    )
    assert [s.word for s in found] == [s.word for s in wanted]


def test_it_can_be_exported_again(exported, tmp_path):
    export_saved_model(exported, tmp_path / "again", None, language_model=True)
    wanted, found = map(load_language_model, (exported, tmp_path / "again"))
    assert found.vocabulary.words == WORDS
    for ours, theirs in zip(found.weights, wanted.weights, strict=True):
        if "seed" not in ours.path:
            np.testing.assert_array_equal(numpy_of(ours), numpy_of(theirs))


def test_a_run_begins_from_its_softmax(directory, exported):
    model = model_of(CONFIG, WORDS)
    origin = WarmStart(exported)
    assert origin.vocabulary.words == WORDS
    assert origin.load_into(model) == len(WORDS)
    wanted = directory.read_model().head.softmax
    np.testing.assert_allclose(
        numpy_of(model.head.softmax.kernel), numpy_of(wanted.kernel), rtol=1e-3
    )


def test_an_export_without_says_so(directory, tmp_path):
    export_saved_model(directory.path, tmp_path / "encoder", None)
    with pytest.raises(ValueError, match="encoder: holds an encoder but no language"):
        load_language_model(tmp_path / "encoder")
    with pytest.raises(ValueError, match="encoder: holds an encoder but no language"):
        export_saved_model(
            tmp_path / "encoder", tmp_path / "again", None, language_model=True
        )
    assert not os.path.exists(tmp_path / "again")


def test_an_encoder_has_none_to_export(exported, tmp_path):
    encoder = load(exported)
    with pytest.raises(TypeError, match="`source` must be the path of a language mod"):
        export_saved_model(encoder, tmp_path / "again", None, language_model=True)
    assert not os.path.exists(tmp_path / "again")


def test_a_softmax_that_is_missing_or_cut_off(damaged):
    softmax = damaged / ASSETS / "softmax.hdf5"
    content = softmax.read_bytes()
    softmax.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="softmax.hdf5: not a readable HDF5 file"):
        load_language_model(damaged)
    softmax.unlink()
    with pytest.raises(FileNotFoundError, match="softmax.hdf5: no such file"):
        load_language_model(damaged)


def test_words_that_are_not_the_softmax_s(damaged):
    vocabulary = damaged / ASSETS / "vocabulary.txt"
    vocabulary.write_text("\n".join(WORDS[:-1]) + "\n")
    with pytest.raises(ValueError, match=r"softmax/W has the shape \(8, .*vocabulary"):
        load_language_model(damaged)
    # More rows than the file could hold are refused before any is made.
    words = [*WORDS, *(f"w{k}" for k in range(100_000))]
    vocabulary.write_text("\n".join(words) + "\n")
    with pytest.raises(ValueError, match="too few for the"):
        load_language_model(damaged)


def test_it_is_stored_in_half_precision(exported):
    with h5py.File(exported / ASSETS / "softmax.hdf5") as file:
        assert {file[f"softmax/{name}"].dtype.name for name in "Wb"} == {"float16"}
