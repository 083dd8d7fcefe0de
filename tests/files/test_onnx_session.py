"""An .onnx file stands for an encoder, without TensorFlow and Keras."""

import json

import numpy as np
import onnx
import pytest

import keras_elmo
from keras_elmo.export.onnx import export_onnx
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.exports import SENTENCES, TOKENS, embedding
from tests.helpers.fresh_process import run_python

pytestmark = [pytest.mark.graph, pytest.mark.usefixtures("eagerly")]

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def layer():
    made = embedding()
    made.encoder.tokenizer = "unicode"
    return made


@pytest.fixture(scope="module")
def file(layer, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    export_onnx(layer, path)
    return path


def changed(file, path, **metadata):
    """A copy of a file with other metadata; `None` removes an entry."""
    model = onnx.load(file)
    actual = {entry.key: entry.value for entry in model.metadata_props}
    del model.metadata_props[:]
    merged = {**actual, **metadata}
    kept = {key: value for key, value in merged.items() if value is not None}
    onnx.helper.set_model_props(model, kept)
    onnx.save(model, path)
    return path


# ---------------------------------------------------------------- the same functions


@pytest.mark.parametrize("sentences", [SENTENCES, TOKENS], ids=["texts", "tokens"])
@pytest.mark.parametrize("layers", ["all", "mix"])
def test_embed(sentences, layers, layer, file):
    """The vectors are those of the layer, of texts and of tokens, in any batches."""
    encoder = keras_elmo.load(file)
    assert encoder.tokenizer == "unicode"
    assert encoder.config == layer.encoder.config
    wanted = list(keras_elmo.embed(layer, sentences, layers=layers))
    for model, batch_size in ((encoder, 32), (str(file), 2)):
        actual = list(keras_elmo.embed(model, sentences, batch_size, layers=layers))
        for one, other in zip(actual, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=TOLERANCE, rtol=0)
    pooled = keras_elmo.embed(encoder, sentences, layers=layers, pooling="mean")
    assert pooled.shape[0] == len(sentences)


def test_nearest(layer, file):
    """Occurrences are found as with the layer's encoder."""
    corpus = [tokens for tokens in TOKENS if len(tokens) > 1]
    arguments = ("bank", TOKENS[0], corpus)
    actual = keras_elmo.nearest(keras_elmo.load(file), *arguments, num=3)
    wanted = keras_elmo.nearest(layer, *arguments, num=3)
    assert [occurrence[1:] for occurrence in actual] == [
        occurrence[1:] for occurrence in wanted
    ]


def test_repr(file):
    said = f"OnnxEncoder({str(file)!r}, 3 layers of 14 units, tokenizer='unicode', "
    assert repr(keras_elmo.load(file)) == f"{said}quantize=None)"


_FRESH = """
import sys
import keras_elmo
model = keras_elmo.load(sys.argv[1])
(vectors,) = keras_elmo.embed(model, ["The bank, closed."])
corpus = [["a", "bank"], ["the", "bank"]]
assert len(keras_elmo.nearest(model, "bank", "My bank.", corpus, num=1)) == 1
assert vectors.shape == (3, 5, 14), vectors.shape
status = keras_elmo.cli.main(["embed", "--model", sys.argv[1], "--input", "text.txt",
    "--out", "vectors.hdf5", "--layers", "mix"])
names = "h5py jax keras matplotlib onnx pandas scipy sklearn torch".split()
names += ["rich.progress", "tensorflow", "tensorflow_text"]
print(status, sorted(set(names) & sys.modules.keys()))
"""


def test_without_tensorflow(file, layer, tmp_path):
    """A process that loads and embeds imports neither TensorFlow nor Keras."""
    (tmp_path / "text.txt").write_text("The bank\n\nclosed .\n", encoding="utf-8")
    code = _FRESH.replace("import keras_elmo\n", "import keras_elmo, keras_elmo.cli\n")
    printed = run_python("-c", code, file, cwd=tmp_path)
    assert printed.splitlines()[-1] == "0 ['h5py']"
    import h5py

    (wanted,) = keras_elmo.embed(layer, ["The bank"], layers="mix")
    with h5py.File(tmp_path / "vectors.hdf5") as actual:
        np.testing.assert_allclose(actual["0"], wanted, atol=TOLERANCE, rtol=0)
        assert actual["1"].shape == (0, 14)


# ---------------------------------------------------------------- what cannot be


def test_no_language_model(file):
    """What needs a softmax, or weights, says so."""
    for model in (file, keras_elmo.load(file)):
        with pytest.raises((ValueError, TypeError), match="language model"):
            keras_elmo.substitutes(model, ["the", "bank"], "bank")
        with pytest.raises((ValueError, TypeError), match="language model"):
            list(keras_elmo.score(model, [["the", "bank"]]))
        with pytest.raises(ValueError, match="must have weights .*model.onnx"):
            export_onnx(model, "other.onnx")


def _write_foreign(file, path):
    model = onnx.load(file)
    model.producer_name = "another"
    onnx.save(model, path)


def _write_renamed(file, path):
    model = onnx.load(file)
    model.graph.output[1].name = "lstm_outputs9"
    model.graph.node.append(
        onnx.helper.make_node("Identity", ["lstm_outputs1"], ["lstm_outputs9"])
    )
    onnx.save(model, path)


def _described(file, **changes):
    entries = {entry.key: entry.value for entry in onnx.load(file).metadata_props}
    return json.dumps({**json.loads(entries["keras_elmo"]), **changes})


def described(**changes):
    """Writes a copy with another description."""
    return lambda file, path: changed(
        file, path, keras_elmo=_described(file, **changes)
    )


OTHER_SIZES = keras_elmo.ElmoConfig.preset("tiny").to_options()
DAMAGED = {
    "truncated": lambda file, path: path.write_bytes(file.read_bytes()[:-2000]),
    "another producer": _write_foreign,
    "an output is missing": _write_renamed,
    "no description": lambda file, path: changed(file, path, keras_elmo=None),
    "no JSON": lambda file, path: changed(file, path, keras_elmo="{"),
    "no object": lambda file, path: changed(file, path, keras_elmo="[]"),
    "garbage": lambda file, path: path.write_bytes(b"\x08\x08PK\x03\x04" * 99),
    "later format": described(format=2),
    "other sizes": described(options=OTHER_SIZES),
    "another mix": described(mix=[[1.0], 1.0, False]),
    "another tokenizer": lambda file, path: changed(file, path, tokenizer="rm"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_file(kind, file, tmp_path):
    path = tmp_path / "bad.onnx"
    DAMAGED[kind](file, path)
    with pytest.raises(ValueError, match=r"bad\.onnx: [^\n]*$"):
        keras_elmo.load(path)


@pytest.mark.parametrize("content", [b"", b"Text.\n", b"PK\x03\x04\xff"])
def test_no_onnx_file(content, tmp_path):
    """The error is no code of ONNX Runtime; a command says it in one line."""
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.onnx: not an ONNX file, or cut short$"):
        keras_elmo.load(path)
    files = ("--model", path, "--input", __file__, "--out", "-")
    assert_one_line(*command("embed", *files), "bad.onnx: not an ONNX file")
