import json
import os
import re
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.loading import load
from keras_elmo.importing.inspection import inspect_model
from keras_elmo.text.tokenizer import Tokenizer
from keras_elmo.utils import bfloat16
from tests.helpers.exports import (
    HALF,
    LENGTHS,
    LONGEST,
    SENTENCES,
    SIZES,
    TOKENS,
    assert_equal,
    embedding,
    export_weights,
    in_memory,
    padded,
)
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import require_installed
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import (
    CONFIG,
    SMALLER,
    assert_same_weights,
    char_ids,
    random_encoder,
)

pytestmark = pytest.mark.graph

TOKENIZERS = ("unicode", "whitespace")


@pytest.fixture(scope="module")
def layer():
    """Anything but the defaults, none of which is to show in the export."""
    return embedding(
        num_representations=2,
        dropout=0.5,
        trainable_encoder=True,
        keep_boundaries=False,
    )


@pytest.fixture(scope="module")
def folders(layer, tmp_path_factory):
    """The model exported with each tokenizer."""
    folder = tmp_path_factory.mktemp("exports")
    for tokenizer in TOKENIZERS:
        export_saved_model(layer, folder / str(tokenizer), tokenizer)
    return {tokenizer: folder / str(tokenizer) for tokenizer in TOKENIZERS}


@pytest.fixture(scope="module")
def models(folders):
    """Loaded again; kept, for signatures on their own lose their variables."""
    return {name: tf.saved_model.load(str(path)) for name, path in folders.items()}


@pytest.fixture(scope="module")
def model(models):
    """That of either tokenizer does: they differ in the signature `default`."""
    return models["whitespace"]


@pytest.fixture(scope="module")
def wanted(layer):
    return in_memory(layer)


def from_tokens(model, tokens, lengths):
    return model.signatures["tokens"](
        tokens=tf.constant(tokens, tf.string),
        sequence_len=tf.constant(lengths, "int32"),
    )


def from_strings(model, strings):
    return model.signatures["default"](strings=tf.constant(strings, tf.string))


# ---------------------------------------------------------------- the same vectors


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_tokens_signature(tokenizer, models, wanted):
    assert_equal(from_tokens(models[tokenizer], padded(TOKENS), LENGTHS), wanted)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_default_signature(tokenizer, models, wanted):
    """Strings give the vectors of the layer; both tokenizers split these alike."""
    assert_equal(from_strings(models[tokenizer], SENTENCES), wanted)


def test_default_signature_tokenizer(model, models):
    strings = ["The bank(1990),closed 3.5 times", "배가 고프다!"]
    actual = {kind: from_strings(models[kind], strings) for kind in TOKENIZERS}
    for kind, outputs in actual.items():
        tokens = Tokenizer(kind).ragged(strings)
        lengths = tokens.row_lengths().numpy()
        assert outputs["sequence_len"].numpy().tolist() == lengths.tolist()
        same = from_tokens(model, tokens.to_tensor("").numpy(), lengths)
        assert_equal(outputs, numpy_of(same))
    assert actual["unicode"]["sequence_len"].numpy().tolist() == [9, 3]
    assert actual["whitespace"]["sequence_len"].numpy().tolist() == [4, 2]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_names_and_shapes(tokenizer, models):
    """Names and shapes of the signatures are those of the TF Hub module."""
    signatures = models[tokenizer].signatures
    assert set(signatures) == {"tokens", "default", "serving_default"}
    arguments = {
        "tokens": {"tokens": ("string", 2), "sequence_len": ("int32", 1)},
        "default": {"strings": ("string", 1)},
    }
    for name, wanted in arguments.items():
        _, specs = signatures[name].structured_input_signature
        actual = {key: (v.dtype.name, v.shape.rank) for key, v in specs.items()}
        assert actual == wanted
        actual = {
            output: (spec.dtype.name, spec.shape[-1], spec.shape.rank)
            for output, spec in signatures[name].structured_outputs.items()
        }
        assert actual == {
            **{output: ("float32", size, 3) for output, size in SIZES.items()},
            "default": ("float32", 2 * HALF, 2),
            "sequence_len": ("int32", None, 1),
        }


def test_single_sentence(model, models, wanted):
    for row, (text, tokens) in enumerate(zip(SENTENCES, TOKENS, strict=True)):
        length = len(tokens)
        for outputs in (
            from_strings(models["unicode"], [text]),
            from_tokens(model, padded([tokens], length=length + 3), [length]),
        ):
            for name in (*SIZES, "default"):
                actual, batch = np.asarray(outputs[name])[0], wanted[name][row]
                if name != "default":
                    assert (actual[length:] == 0).all()
                    actual, batch = actual[:length], batch[:length]
                np.testing.assert_allclose(actual, batch, atol=1e-5, err_msg=name)


def test_padding_is_not_read(model, wanted):
    """Tokens beyond `sequence_len` are not read."""
    tokens = padded(TOKENS)
    for row, length in enumerate(LENGTHS):
        tokens[row, length:] = b"garbage"
    assert_equal(from_tokens(model, tokens, LENGTHS), wanted)


def test_mean_with_too_long_lengths(model, wanted):
    """A client that sends the padded length gets the mean over the tokens, too."""
    actual = from_tokens(model, padded(TOKENS), [LONGEST + 2] * len(TOKENS))
    for name in ("elmo", "default"):
        np.testing.assert_allclose(actual[name], wanted[name], atol=1e-5)


def test_empty_string_before_a_token(model):
    for row in ([b"", b"a"], [b"a", b"", b"b"]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="end of a row"):
            from_tokens(model, [row], [len(row)])
    # What follows a sentence is not read.
    shortened = from_tokens(model, [[b"a", b"", b"b"]], [1])
    assert_equal(shortened, from_tokens(model, [[b"a", b"", b""]], [1]))


# ---------------------------------------------------------------- nothing to read


def assert_nothing(outputs, batch, tokens):
    for name, size in SIZES.items():
        assert outputs[name].shape == (batch, tokens, size)
        assert (np.asarray(outputs[name]) == 0).all(), name
    assert outputs["default"].shape == (batch, 2 * HALF)
    assert (np.asarray(outputs["default"]) == 0).all()


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("strings", [[""], ["", " \t", "\u3000"], []], ids=repr)
def test_empty_strings(strings, tokenizer, models):
    outputs = from_strings(models[tokenizer], strings)
    assert_nothing(outputs, len(strings), 0)
    assert outputs["sequence_len"].numpy().tolist() == [0] * len(strings)


@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (2, 0), (0, 3), (0, 0)], ids=str)
def test_no_tokens(shape, model):
    tokens = np.full(shape, b"", dtype=object)
    outputs = from_tokens(model, tokens, np.zeros(shape[0]))
    assert_nothing(outputs, *shape)


# ---------------------------------------------------------------- what is trainable


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_trainable_variables(tokenizer, models, layer):
    for name, signature in models[tokenizer].signatures.items():
        actual = {v.shape.rank: v.numpy() for v in signature.trainable_variables}
        assert len(signature.trainable_variables) == 2, name
        np.testing.assert_allclose(actual[1], [0.7, -0.4, 0.9])
        np.testing.assert_allclose(actual[0], 1.7)
        assert len(signature.variables) == 2 + len(layer.encoder.weights)


def test_gradients(model, wanted):
    signature = model.signatures["tokens"]
    with tf.GradientTape() as tape:
        outputs = from_tokens(model, padded(TOKENS), LENGTHS)
        total = tf.reduce_sum(outputs["elmo"] ** 2)
    gradients = tape.gradient(total, signature.trainable_variables)
    (by_gamma,) = (g for g in gradients if g.shape.rank == 0)
    # The sum is of squares of what gamma scales.
    assert float(by_gamma) == pytest.approx(2 * float(total) / 1.7, rel=1e-4)
    assert all(np.abs(gradient).max() > 0 for gradient in gradients)


# ---------------------------------------------------------------- other processes


@pytest.fixture(scope="module")
def elsewhere(folders, tmp_path_factory):
    """What a process without this package has found."""
    folder = tmp_path_factory.mktemp("elsewhere")
    script = Path(__file__).with_name("without_this_package.py")
    paths = (folders["whitespace"], folders["unicode"], folder / "outputs.npz")
    output = run_python(script, *paths, cwd=folder, PYTHONPATH="")
    return json.loads(output.splitlines()[-1]), np.load(folder / "outputs.npz")


@pytest.mark.slow
def test_without_package(elsewhere, model):
    """Core ops are enough but for `unicode`."""
    actual, outputs = elsewhere
    # Loading the unicode one needs the ops of tensorflow-text.
    assert re.search("op", actual["missing"], re.IGNORECASE)
    strings = ["I sat on the bank", "배 가"]
    assert_equal(dict(outputs), numpy_of(from_strings(model, strings)))


@pytest.mark.slow
def test_tfsm_layer(elsewhere, layer):
    """TFSMLayer trains the mix and the head alone."""
    actual, _ = elsewhere
    assert len(actual["trainable"]) == 2
    assert actual["moved"] == actual["trainable"]
    assert actual["moved_head"] == 2
    assert actual["num_weights"] == 2 + len(layer.encoder.weights)


# What tensorflow-text brings, which TensorFlow Serving links as a whole; all else has
# to be TensorFlow's own and have a kernel without Python.
TEXT_OPS = {"NormalizeUTF8"}
PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def ops_of(graph):
    functions = {function.signature.name for function in graph.library.function}
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    ops = {node.op for node in nodes} - functions
    assert not ops & PYTHON_OPS
    return ops, {op for op in ops if not hasattr(tf.raw_ops, op)}


def test_ops(folders):
    """TensorFlow Serving links every op."""
    for tokenizer, path in folders.items():
        content = (path / "saved_model.pb").read_bytes()
        ops, others = ops_of(SavedModel.FromString(content).meta_graphs[0].graph_def)
        assert others == (TEXT_OPS if tokenizer == "unicode" else set())
        assert {"MatMul", "VarHandleOp"} <= ops
    strings = tf.TensorSpec([None], tf.string)
    for tokenizer in ("published", "treebank"):
        split = tf.function(Tokenizer(tokenizer).ragged, [strings], autograph=False)
        assert not ops_of(split.get_concrete_function().graph.as_graph_def())[1]


_READ = """
import sys
import numpy as np
import keras_elmo
layer = keras_elmo.ElmoEmbedding(sys.argv[1])
np.savez(sys.argv[2], *map(np.asarray, layer.weights))
"""


@pytest.mark.slow
def test_jax(layer, folders, tmp_path, monkeypatch):
    """On JAX it is read but not written."""
    require_installed("jax")
    arguments = (folders["unicode"], "weights.npz")
    run_python("-c", _READ, *arguments, cwd=tmp_path, KERAS_BACKEND="jax")
    actual = np.load(tmp_path / "weights.npz").values()
    wanted = ElmoEmbedding(folders["unicode"]).weights
    for array, weight in zip(actual, numpy_of(wanted), strict=True):
        np.testing.assert_array_equal(array, weight)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow.* Received: jax"):
        export_saved_model(layer, tmp_path / "export")
    assert not (tmp_path / "export").exists()


# ---------------------------------------------------------------- and back again


def test_layer_norm(tmp_path):
    layer = embedding(layer_norm=True)
    export_saved_model(layer, tmp_path / "export", None)
    model = tf.saved_model.load(str(tmp_path / "export"))
    outputs = from_tokens(model, padded(TOKENS), LENGTHS)
    np.testing.assert_allclose(
        outputs["elmo"], numpy_of(layer(char_ids(TOKENS))), atol=1e-5
    )
    assert_nothing(from_tokens(model, [[b""]], [0]), 1, 1)
    rebuilt = ElmoEmbedding.from_saved_model(tmp_path / "export")
    np.testing.assert_allclose(
        numpy_of(rebuilt(char_ids(TOKENS))), outputs["elmo"], atol=1e-5
    )


# ---------------------------------------------------------------- folders


def stored_size(folder):
    return os.path.getsize(folder / "variables" / "variables.data-00000-of-00001")


def test_bfloat16(layer, folders, wanted, tmp_path, monkeypatch):
    """Half the size, nearly the same vectors, float32 outputs, and one warning."""
    path = tmp_path / "low"
    with monkeypatch.context() as processor:
        processor.setattr(bfloat16, "multiplies_bfloat16", lambda: False)
        with pytest.warns(UserWarning, match="no instructions for bfloat16") as caught:
            export_saved_model(layer, path, None, dtype="bfloat16")
    assert [warning.category for warning in caught].count(UserWarning) == 1
    actual = from_tokens(tf.saved_model.load(str(path)), padded(TOKENS), LENGTHS)
    for name, array in wanted.items():
        wanted_type = "int32" if name == "sequence_len" else "float32"
        assert actual[name].dtype == wanted_type
        np.testing.assert_allclose(np.asarray(actual[name]), array, atol=0.1)

    assert stored_size(path) < 0.6 * stored_size(folders["unicode"])
    again = load(path)
    assert {weight.dtype for weight in again.weights} == {"bfloat16"}
    for ours, original in zip(
        numpy_of(again.weights), numpy_of(layer.encoder.weights), strict=True
    ):
        np.testing.assert_allclose(ours, original, rtol=0.01)
    # And back: what was rounded stays so.
    export_weights(path, tmp_path / "float32", dtype="float32")
    assert {weight.dtype for weight in load(tmp_path / "float32").weights} == {
        "float32"
    }


def test_dtype_is_not_the_global_one(tmp_path):
    encoder, before = random_encoder(SMALLER), keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        export_weights(encoder, tmp_path / "model", dtype="float32")
    finally:
        keras.config.set_dtype_policy(before)
    assert load(tmp_path / "model").layers_dtype.name == "float32"


def test_half_weights(layer, folders, tmp_path):
    """Half weights are stored and computed with in float32."""
    export_saved_model(layer, tmp_path, None, half_weights=True)
    assert stored_size(tmp_path) < 0.6 * stored_size(folders["unicode"])
    encoder = load(tmp_path)
    for ours, original in zip(encoder.weights, layer.encoder.weights, strict=True):
        assert ours.dtype == "float32"
        rounded = numpy_of(original).astype("float16").astype("float32")
        np.testing.assert_array_equal(numpy_of(ours), rounded)
    # The mix alone is trainable, as in full precision.
    model = tf.saved_model.load(str(tmp_path))
    for name, signature in model.signatures.items():
        assert len(signature.trainable_variables) == 2, name
        assert len(signature.variables) == 2 + len(encoder.weights)
    # No product is of float16: the vectors are those of the rounded weights.
    rebuilt = ElmoEmbedding.from_saved_model(tmp_path)
    assert_equal(from_tokens(model, padded(TOKENS), LENGTHS), in_memory(rebuilt))


def test_tokenizer_of_every_function(tmp_path):
    """It is that of the signature, else that of the training text, else whitespace."""
    encoder = random_encoder(SMALLER)
    for own, asked, expected in (
        (None, "own", "whitespace"),
        ("whitespace", "own", "whitespace"),
        (None, "unicode", "unicode"),
        ("unicode", None, "unicode"),
        ("unicode", "whitespace", "whitespace"),
    ):
        encoder.tokenizer = own
        path = tmp_path / f"{own} {asked}"
        export_weights(encoder, path, asked)
        assert load(path).tokenizer == expected
        assert inspect_model(path)["tokenizer"] == expected
    export_weights(path, tmp_path / "again", "own")
    assert load(tmp_path / "again").tokenizer == "whitespace"

    # What the training text was split by is still told.
    description = path / "assets.extra" / "keras_elmo.json"
    stored = json.loads(description.read_text(encoding="utf-8"))
    assert stored["tokenizer"] == "unicode"
    assert stored["signature_tokenizer"] == "whitespace"


def test_half_weights_overflow(tmp_path):
    encoder = random_encoder(SMALLER)
    weight = encoder.weights[-1]
    weight.assign(np.full(weight.shape, 1e5))
    with pytest.raises(ValueError, match=f"65,504 at most; {weight.path} has"):
        export_saved_model(encoder, tmp_path / "export", None, half_weights=True)
    assert not list(tmp_path.iterdir())


def test_replaces_export(tmp_path):
    path = tmp_path / "export"
    export_weights(random_encoder(SMALLER, seed=1), path)
    (path / "notes.txt").write_text("of the first", encoding="utf-8")
    second = random_encoder(SMALLER, seed=2)
    export_weights(second, f"{path}/")
    assert [entry.name for entry in tmp_path.iterdir()] == ["export"]
    assert not (path / "notes.txt").exists()
    assert_same_weights(load(path).weights, second.weights)


def test_export_of_export(folders, wanted, tmp_path):
    export_saved_model(str(folders["unicode"]), tmp_path, None)
    model = tf.saved_model.load(str(tmp_path))
    assert list(model.signatures) == ["tokens"]
    assert_equal(from_tokens(model, padded(TOKENS), LENGTHS), wanted)


@pytest.mark.parametrize(
    ("make", "path", "tokenizer", "error", "said"),
    [
        (lambda: CONFIG, "export", None, TypeError, "`source` must be"),
        (random_encoder, "export", "bpe", ValueError, "`tokenizer` must be.*'bpe'"),
        (random_encoder, "elmo.tflite", None, ValueError, "the name of a folder"),
        (random_encoder, "elmo.ONNX", None, ValueError, "the name of a folder"),
        (random_encoder, "elmo.v1.pdf", None, ValueError, "the name of a folder"),
        # What is no exported model is not replaced.
        (random_encoder, "folder", None, ValueError, "`path` must not exist, or hold"),
        (random_encoder, "folder/notes", None, ValueError, "`path` must not exist, or"),
    ],
)
def test_invalid_arguments(make, path, tokenizer, error, said, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes").write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error, match=said):
        export_saved_model(make(), tmp_path / path, tokenizer)
    assert sorted(tmp_path.rglob("*")) == before
