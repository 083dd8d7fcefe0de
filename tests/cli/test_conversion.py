"""`export` and `import`, which write a model in another form."""

import json
from unittest import mock

import h5py
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.files.loading import load, load_language_model
from tests.helpers.command_line import assert_one_line, command, names

pytestmark = pytest.mark.graph


@pytest.mark.slow
def test_export(run, exported):
    """The tokenizer of the text is kept."""
    model = tf.saved_model.load(str(exported))
    assert set(model.signatures) == {"default", "tokens", "serving_default"}
    found = model.signatures["default"](strings=tf.constant(["Ann saw(Bob)."]))
    assert found["sequence_len"].numpy().tolist() == [6]
    assert load(exported).tokenizer == load(run[0]).tokenizer == "unicode"
    kept, found = map(load_language_model, (run[0], exported))
    assert found.vocabulary.words == kept.vocabulary.words


@pytest.mark.slow
def test_export_of_export(exported, tmp_path):
    status, *said = command(
        *("export", "--model", exported, "--out", tmp_path / "out"),
        *("--tokenizer", "none", "--dtype", "bfloat16"),
    )
    assert status == 0, said
    model = tf.saved_model.load(str(tmp_path / "out"))
    assert list(model.signatures) == ["tokens"]
    assert {weight.dtype for weight in load(tmp_path / "out").weights} == {"bfloat16"}


def test_export_onnx(imported, tmp_path):
    """A name in .onnx makes an ONNX file."""
    out = tmp_path / "model.onnx"
    status, printed, err = command("export", "--model", imported, "--out", out)
    assert (status, err) == (0, "") and f"wrote {out}, an ONNX file\n" in printed
    session = onnxruntime.InferenceSession(out)
    ids = np.zeros((1, 4, 50), "int32")
    (elmo,) = session.run(["elmo"], {"char_ids": ids})
    assert elmo.shape == (1, 2, 32)


@pytest.mark.parametrize(
    "option",
    [("--tokenizer", "none"), ("--dtype", "bfloat16"), ("--language-model",)],
    ids=" ".join,
)
def test_export_onnx_has_no_options(option, imported, tmp_path):
    out = tmp_path / "model.onnx"
    result = command("export", "--model", imported, "--out", out, *option)
    assert_one_line(*result, option[0], "an ONNX file takes character ids")
    assert names(tmp_path) == []


def test_export_interrupted(monkeypatch):
    """Outside of training there is nothing to go on from."""
    monkeypatch.setattr(
        keras_elmo, "export_saved_model", mock.Mock(side_effect=KeyboardInterrupt)
    )
    result = command(
        "export", "--model", "elmo-en", "--out", "out", "--tokenizer", "none"
    )
    assert result == (130, "", "keras-elmo: interrupted\n")


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
