"""Models that nobody has spoiled, and copies to spoil."""

import os
import shutil

import pytest

from keras_elmo.files.run_directory import PretrainingDirectory
from tests.helpers.bilm_files import module_variables, write_checkpoint, write_module
from tests.helpers.exports import embedding, export_weights
from tests.helpers.limits import memory_of_at_most
from tests.helpers.pretrained import write_pretrained
from tests.helpers.small import CONFIG

# More than reading a small model takes, and less than anything that is out of bounds.
LITTLE = 1 << 29
# What may stand in place of a file.
NO_FILES = {
    "folder": os.mkdir,
    "pipe": os.mkfifo,
    "device": lambda path: os.symlink("/dev/zero", path),
}
WORDS = ["<S>", "</S>", "<UNK>", "the", "배", "bank"]


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """A pretraining directory, exported models, and models of other programs."""
    folder = tmp_path_factory.mktemp("originals")
    write_pretrained(folder / "directory", CONFIG, WORDS)
    export_weights(embedding(), folder / "saved_model")
    words = folder / "language_model"
    export_weights(folder / "directory", words, language_model=True)
    write_checkpoint(folder / "bilm")
    write_module(folder / "hub", module_variables(CONFIG.to_options())[0])
    return folder


@pytest.fixture
def directory(originals, tmp_path):
    path = tmp_path / "directory"
    return PretrainingDirectory(shutil.copytree(originals / "directory", path))


@pytest.fixture
def saved_model(originals, tmp_path):
    return shutil.copytree(originals / "saved_model", tmp_path / "saved_model")


@pytest.fixture
def little_memory():
    with memory_of_at_most(LITTLE):
        yield
