import json
import os

import h5py
import numpy as np
import pytest

from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.loading import load, load_language_model
from keras_elmo.files.published import load_published_weights
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.optimizers import PublishedAdagrad
from tests.helpers.layer_checks import numpy_of
from tests.helpers.limits import files_of_at_most
from tests.helpers.small import CONFIG, assert_same_weights, randomise

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "the", "배", "bank"])
MANIFEST = {"tokenizer": "unicode", "vocabulary_size": 6, "num_sampled": 4, "seed": 3}


@pytest.fixture(scope="module")
def model():
    model = build_pretraining_model(CONFIG, 6, num_sampled=4)
    randomise(model, np.random.default_rng(0), scale=0.5)
    # The file has no row for the mask.
    table = model.encoder.get_layer("char_cnn_embedding").char_embedding
    table.assign(np.concatenate([np.zeros((1, 3)), numpy_of(table)[1:]]))
    return model


@pytest.fixture
def directory(model, tmp_path):
    """One that holds everything a run writes, but its curves and its state."""
    directory = PretrainingDirectory(tmp_path / "not yet" / "run")
    directory.write_manifest(CONFIG, MANIFEST)
    VOCABULARY.save(directory.vocabulary)
    directory.write_weights(model)
    return directory


# ---------------------------------------------------------------- there and back


def test_read_model(directory, model):
    actual = directory.read_model()
    assert_same_weights(actual.weights, model.weights)
    assert actual.config == CONFIG
    assert actual.encoder.tokenizer == "unicode"
    assert actual.head.num_sampled == 4
    assert directory.read_manifest() == MANIFEST
    assert directory.read_vocabulary().words == VOCABULARY.words


def test_published_format(directory, model):
    """Programs for published models can read it; the softmax is beside the encoder."""
    encoder = load_published_weights(directory.options, directory.weights)
    assert_same_weights(encoder.weights, model.encoder.weights)
    with h5py.File(directory.weights, "a") as file:
        assert file["softmax/W"].shape == (6, 7)
        assert file["softmax/b"].shape == (6,)
        del file["softmax"]
    encoder = directory.read_encoder()
    assert_same_weights(encoder.weights, model.encoder.weights)
    assert encoder.tokenizer == "unicode"
    with pytest.raises(ValueError, match="lacks the dataset softmax/W"):
        directory.read_model()


def test_replaces_weights(directory, model, tmp_path):
    directory.write_weights(build_pretraining_model(CONFIG, 6, num_sampled=4))
    directory.write_weights(model)
    assert_same_weights(directory.read_model().weights, model.weights)
    names = sorted(path.name for path in (tmp_path / "not yet" / "run").iterdir())
    assert names == ["options.json", "training.json", "vocabulary.txt", "weights.hdf5"]


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("file", ["options", "weights"])
def test_missing_file(file, directory, tmp_path):
    path = getattr(directory, file)
    (tmp_path / path).unlink()
    assert not directory.holds_a_model()
    with pytest.raises(ValueError, match=f"holds no model: .*{file}"):
        directory.read_model()
    with pytest.raises(ValueError, match=f"has no weights yet: .*{directory.weights}"):
        load(directory.path)
    (tmp_path / directory.training).unlink()
    with pytest.raises(ValueError, match="`name_or_path` must be"):
        load(directory.path)


def test_run_without_a_validation(directory):
    """Stopped before it, a run has the weights of its last checkpoint that is whole."""
    os.remove(directory.weights)
    trained = build_pretraining_model(CONFIG, 6, num_sampled=4)
    trained.compile(PublishedAdagrad())
    trained.optimizer.build(trained.trainable_variables)
    checkpoints = Checkpoints(directory.checkpoints)
    for step in (2, 4, 6):
        randomise(trained, np.random.default_rng(step), scale=0.5)
        progress = {"step": step, "vocabulary": VOCABULARY.digest()}
        checkpoints.save(step, trained, progress)
    with pytest.warns(UserWarning, match=r"run: no validation .* of step 6, the last"):
        actual = load_language_model(directory.path)
    assert_same_weights(actual.weights, trained.weights)
    assert actual.encoder.tokenizer == "unicode"
    assert actual.vocabulary.words == VOCABULARY.words
    # One of several, by its path, is no matter of a warning.
    assert_same_weights(load(checkpoints.path(6)).weights, trained.encoder.weights)
    with open(checkpoints.path(6), "r+b") as file:
        file.truncate(5000)
    with (
        pytest.warns(UserWarning, match="skipped a damaged checkpoint: .*00006"),
        pytest.warns(UserWarning, match="of step 4, the last checkpoint"),
    ):
        encoder = load(directory.path)
    assert_same_weights(encoder.weights, load(checkpoints.path(4)).weights)
    with pytest.raises(ValueError, match=r"00006\.npz: "):
        load(checkpoints.path(6))
    Vocabulary([*VOCABULARY.words[:-1], "boat"]).save(directory.vocabulary)
    with pytest.raises(ValueError, match=r"vocabulary\.txt is not the one that the ch"):
        load(checkpoints.path(4))


@pytest.mark.parametrize("key", ["vocabulary_size", "num_sampled", "tokenizer"])
def test_manifest_without_key(key, directory):
    manifest = {name: value for name, value in MANIFEST.items() if name != key}
    with open(directory.training, "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    with pytest.raises(ValueError, match=rf"training\.json is missing, or .*{key}"):
        directory.read_model()


def test_wrong_vocabulary(directory):
    Vocabulary([*VOCABULARY.words, "boat"]).save(directory.vocabulary)
    with pytest.raises(ValueError, match=r"softmax/W .*\(6, 7\).*vocab.*\(7, 7\)"):
        directory.read_model()
    os.remove(directory.vocabulary)
    with open(directory.training, "w", encoding="utf-8") as file:
        json.dump({**MANIFEST, "vocabulary_size": 8}, file)
    with pytest.raises(ValueError, match=r"softmax/W .*\(6, 7\).*training.*\(8, 7\)"):
        directory.read_model()


def test_full_disk(directory, model, capfd):
    """A full disk is an error that names the file; the former weights are kept."""
    with open(directory.weights, "rb") as file:
        before = file.read()
    with files_of_at_most(len(before) // 2):
        with pytest.raises(OSError, match=r"cannot be written: .*weights\.hdf5"):
            directory.write_weights(model)
    assert capfd.readouterr().err == ""
    with open(directory.weights, "rb") as file:
        assert file.read() == before
    assert not [name for name in os.listdir(directory.path) if name.startswith(".")]
