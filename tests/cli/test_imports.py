"""`import`, which writes a model of another program as one of this package."""

import json

import h5py
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.files.loading import load
from tests.helpers.command_line import assert_one_line, command, names

pytestmark = pytest.mark.graph


def test_import(imported, fixtures):
    assert names(imported) == ["options.json", "weights.hdf5"]
    with (
        h5py.File(imported / "weights.hdf5") as file,
        h5py.File(fixtures / "published_tiny" / "lm_weights.hdf5") as published,
    ):
        for name in ("char_embed", "CNN_proj/W_proj", "CNN_high_1/b_carry"):
            np.testing.assert_array_equal(file[name][...], published[name][...])
    assert load(imported).tokenizer is None


def test_import_tokenizer(imported, tmp_path):
    """The tokenizer is remembered with the model."""
    files = ["--options", imported / "options.json", "--weights"]
    files += [imported / "weights.hdf5", "--out", tmp_path / "model"]
    assert command("import", *files, "--tokenizer", "published") == (0, "", "")
    assert load(tmp_path / "model").tokenizer == "published"


@pytest.mark.slow
def test_import_then_export(imported, tmp_path):
    """Imported, exported, and loaded: without a tokenizer known, words are split."""
    status, *_ = command("export", "--model", imported, "--out", tmp_path / "out")
    assert status == 0
    model = tf.saved_model.load(str(tmp_path / "out"))
    found = model.signatures["default"](strings=tf.constant(["a bank(1) ."]))
    assert found["sequence_len"].numpy().tolist() == [3]
    assert found["elmo"].shape == (1, 3, 32)


def test_import_bad_input(fixtures, tmp_path):
    published = fixtures / "published_tiny"
    options = json.loads((published / "options.json").read_text(encoding="utf-8"))
    options["lstm"]["dim"] = 65
    (tmp_path / "options.json").write_text(json.dumps(options), encoding="utf-8")
    files = ["--options", tmp_path / "options.json"]
    files += ["--weights", published / "lm_weights.hdf5"]
    result = command("import", *files, "--out", tmp_path / "out")
    said = ["lm_weights.hdf5", "LSTMCell/W_0", "(32, 256)", "(32, 260)"]
    assert_one_line(*result, *said)
    assert names(tmp_path) == ["options.json"]
