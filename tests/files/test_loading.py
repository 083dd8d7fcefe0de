import pytest

from keras_elmo.files import loading
from keras_elmo.files.loading import load
from keras_elmo.files.published import save_published_weights
from tests.files.test_run_directory import assert_same_weights, directory, model

__all__ = ["directory", "model"]


def test_path(directory, model):
    """Load takes a path."""
    assert_same_weights(load(directory.path), model.encoder)


def test_relative_path(directory, model, monkeypatch, tmp_path):
    """Load takes a relative path."""
    monkeypatch.chdir(tmp_path / "not yet")
    assert_same_weights(load("run"), model.encoder)


def test_shipped_model(directory, model, monkeypatch, tmp_path):
    """Load takes the name of a shipped model."""
    monkeypatch.setattr(loading, "_SHIPPED", tmp_path / "not yet")
    assert_same_weights(load("run"), model.encoder)
    with pytest.raises(ValueError, match="Received: name_or_path='not/run'"):
        load("not/run")


def test_published_weights(model, tmp_path):
    """Published weights have no training.json beside them."""
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    save_published_weights(model.encoder, *files)
    encoder = load(tmp_path)
    assert_same_weights(encoder, model.encoder)
    assert encoder.tokenizer is None


@pytest.mark.parametrize("name", ["nowhere", "no/where", "elmo-xx"])
def test_missing_model(name):
    """A model that is not there."""
    with pytest.raises(ValueError, match=f"Received: name_or_path='{name}'"):
        load(name)


def test_wrong_type(model):
    """An object that is neither a name nor a path is a TypeError."""
    for read in (load, loading.load_language_model):
        with pytest.raises(TypeError, match="a name or a path here. Received: a Enc"):
            read(model.encoder)
