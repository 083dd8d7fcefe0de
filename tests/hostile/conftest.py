"""Models that nobody has spoiled, and copies to spoil."""

import shutil

import pytest

from keras_elmo.files.run_directory import PretrainingDirectory
from tests.helpers.limits import memory_of_at_most
from tests.helpers.originals import write_originals

# More than reading a small model takes, and less than anything that is out of bounds.
LITTLE = 1 << 29


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    write_originals(folder)
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
