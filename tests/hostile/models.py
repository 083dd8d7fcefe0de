"""Small models of every kind of file, for tests to spoil."""

import shutil

import pytest

from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.run_directory import PretrainingDirectory
from tests.files.exports import embedding
from tests.files.pretrained import write_pretrained
from tests.importing.bilm_files import (
    module_variables,
    write_checkpoint,
    write_module,
)
from tests.little_memory import memory_of_at_most
from tests.models.small import CONFIG

WORDS = ["<S>", "</S>", "<UNK>", "the", "배", "bank"]
# More than reading a small model takes, and less than anything that is out of bounds.
LITTLE = 1 << 29


def write_originals(folder):
    """Writes a pretraining directory, exported models, and models of other programs."""
    write_pretrained(folder / "directory", CONFIG, WORDS)
    export_saved_model(embedding(), folder / "saved_model", None)
    words = folder / "language_model"
    export_saved_model(folder / "directory", words, None, language_model=True)
    write_checkpoint(folder / "bilm")
    write_module(folder / "hub", module_variables(CONFIG.to_options())[0])


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """Models that nobody has spoiled."""
    folder = tmp_path_factory.mktemp("originals")
    write_originals(folder)
    return folder


@pytest.fixture
def directory(originals, tmp_path):
    """A copy, whose files may be spoiled."""
    path = tmp_path / "directory"
    return PretrainingDirectory(shutil.copytree(originals / "directory", path))


@pytest.fixture
def saved_model(originals, tmp_path):
    return shutil.copytree(originals / "saved_model", tmp_path / "saved_model")


@pytest.fixture
def little_memory():
    with memory_of_at_most(LITTLE):
        yield
