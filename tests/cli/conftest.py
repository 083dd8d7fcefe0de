"""A run, what it exports, and the published model imported: all by commands."""

import gzip

import pytest

from tests.helpers.command_line import command
from tests.helpers.runs import SMALL_RUN, write_text


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command line")
    write_text(folder / "train-0.txt", repeats=4)
    with gzip.open(folder / "train-1.gz", "wb") as file:
        file.write((folder / "train-0.txt").read_bytes())
    write_text(folder / "held-out.txt")
    return folder


@pytest.fixture(scope="session")
def run(folder):
    """A run of forty steps, and what it told on stderr."""
    status, out, err = command(
        *("pretrain", "--corpus", folder / "train-*", "--out", folder / "run"),
        *("--validation", folder / "held-out.txt", "--vocabulary-size", 17),
        *("--steps", 40, "--validate-every", 20, *SMALL_RUN),
    )
    assert status == 0, err
    assert out == ""
    return folder / "run", err


@pytest.fixture(scope="session")
def exported(run, folder):
    status, out, err = command(
        "export", "--model", run[0], "--out", folder / "exported", "--language-model"
    )
    assert (status, err) == (0, "")
    wrote, following = out.splitlines()
    assert wrote == f"wrote {folder / 'exported'}, a SavedModel"
    assert following.startswith("next: keras-elmo embed --model ")
    return folder / "exported"


@pytest.fixture(scope="session")
def imported(fixtures, tmp_path_factory):
    """The published model; `fixtures` skips where it is not there."""
    published = fixtures / "published_tiny"
    out = tmp_path_factory.mktemp("imported") / "not" / "yet"
    status, *said = command(
        *("import", "--options", published / "options.json", "--out", out),
        *("--weights", published / "lm_weights.hdf5"),
    )
    assert (status, said) == (0, ["", ""])
    return out
