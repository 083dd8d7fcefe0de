"""ONNX Runtime computes what Keras does, and what the NumPy oracle does."""

import dataclasses
import json
import platform
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.onnx import export_onnx
from keras_elmo.models.encoder import build_encoder
from keras_elmo.onnx_graphs import graph as onnx_graph
from keras_elmo.onnx_graphs import recurrence_graph as onnx_recurrence
from keras_elmo.onnx_graphs.graph import OnnxGraph
from tests.helpers import numpy_reference
from tests.helpers.combinations import BATCHES
from tests.helpers.exports import (
    HALF,
    SIZES,
    TOKENS,
    assert_equal,
    embedding,
    export_weights,
    in_memory,
)
from tests.helpers.fresh_process import run
from tests.helpers.installed import skip_without
from tests.helpers.layer_checks import numpy_of
from tests.helpers.limits import files_of_at_most
from tests.helpers.small import CONFIG, char_ids, published, random_encoder

pytestmark = pytest.mark.graph

TOLERANCE = 1e-5


class Session:
    """An exported file, run by ONNX Runtime."""

    def __init__(self, source, path):
        export_onnx(source, path)
        self.path = path
        self.session = onnxruntime.InferenceSession(path)
        self.names = [output.name for output in self.session.get_outputs()]

    def __call__(self, ids):
        outputs = self.session.run(None, {"char_ids": ids})
        return dict(zip(self.names, outputs, strict=True))


@pytest.fixture(scope="module")
def encoder():
    return random_encoder()


@pytest.fixture(scope="module")
def exported(encoder, tmp_path_factory):
    return Session(encoder, tmp_path_factory.mktemp("onnx") / "model.onnx")


def assert_layers(outputs, sentences, encoder):
    """Compares the layers of every sentence with the oracle's."""
    options, weights = published(encoder)
    names = ["word_emb", "lstm_outputs1", "lstm_outputs2", "lstm_outputs3"]
    names = names[: encoder.config.num_layers + 1]
    half = encoder.config.projection_units
    for row, tokens in enumerate(sentences):
        layers, _ = numpy_reference.encode(tokens, options, weights)
        layers = [layers[0][:, :half], *layers[1:]]
        for name, layer in zip(names, layers, strict=True):
            actual, padding = np.split(outputs[name][row], [len(tokens)])
            np.testing.assert_allclose(
                actual, layer[1:-1], atol=TOLERANCE, rtol=0, err_msg=f"{name}, {tokens}"
            )
            assert not padding.any(), name
    assert outputs["sequence_len"].tolist() == [len(tokens) for tokens in sentences]


# ---------------------------------------------------------------- the same vectors


def test_onnx_checker(exported):
    onnx.checker.check_model(exported.path, full_check=True)


def test_inputs_and_outputs(exported):
    (taken,) = exported.session.get_inputs()
    assert (taken.name, taken.type) == ("char_ids", "tensor(int32)")
    assert taken.shape == ["batch", "positions", 50]
    actual = {
        output.name: (output.type, output.shape)
        for output in exported.session.get_outputs()
    }
    assert actual == {
        **{
            name: ("tensor(float)", ["batch", "tokens", size])
            for name, size in SIZES.items()
        },
        "default": ("tensor(float)", ["batch", 2 * HALF]),
        "sequence_len": ("tensor(int32)", ["batch"]),
    }


@pytest.mark.parametrize("batch", BATCHES)
def test_batches(batch, exported, encoder):
    """Every batch agrees with the NumPy oracle."""
    sentences = BATCHES[batch]
    for extra in (0, 3):
        assert_layers(exported(char_ids(sentences, extra)), sentences, encoder)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_mix(layer_norm, tmp_path):
    layer = embedding(layer_norm=layer_norm, num_representations=2, dropout=0.5)
    outputs = Session(layer, tmp_path / "model.onnx")(char_ids(TOKENS))
    assert_equal(outputs, in_memory(layer), TOLERANCE)


@pytest.mark.parametrize("shape", [(0, 2), (0, 5), (1, 2), (3, 2), (3, 5)], ids=str)
def test_empty_batches(shape, exported):
    """Batches without sentences or without tokens."""
    outputs = exported(np.zeros((*shape, 50), "int32"))
    batch, tokens = shape[0], shape[1] - 2
    for name, size in SIZES.items():
        assert outputs[name].shape == (batch, tokens, size)
        assert not outputs[name].any()
    assert outputs["default"].shape == (batch, 2 * HALF)
    assert not outputs["default"].any()
    assert outputs["sequence_len"].tolist() == [0] * batch


def test_padding_in_front(exported):
    """A sentence ends at its first masked position, as it does in Keras's graphs."""
    ids = char_ids([["a", "bank", "a"], ["bank", "a"]])
    wanted = exported(ids[:1, :3])["lstm_outputs2"]
    ids[0, 3], ids[1] = 0, np.roll(ids[1], 1, axis=0)
    outputs = exported(ids)
    assert outputs["sequence_len"].tolist() == [1, 0]
    np.testing.assert_allclose(outputs["lstm_outputs2"][:1, :1], wanted, atol=TOLERANCE)
    assert not outputs["lstm_outputs2"][0, 1:].any() and not outputs["elmo"][1].any()


# ---------------------------------------------------------------- any model


VARIANTS = {
    "tanh": {"activation": "tanh"},
    "no highway": {"num_highway_layers": 0},
    "no projection": {"projection_units": 15},
    "no skip connections": {"skip_connections": False},
    "no clips": {"cell_clip": None, "projection_clip": None},
    "one clip": {"cell_clip": None},
    "one layer": {"num_layers": 1},
    "three layers": {"num_layers": 3},
    "every step clips": {"cell_clip": 0.05, "projection_clip": 0.02},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants(variant, tmp_path):
    """Any model agrees with the NumPy oracle."""
    encoder = random_encoder(dataclasses.replace(CONFIG, **VARIANTS[variant]))
    outputs = Session(encoder, tmp_path / "model.onnx")(char_ids(TOKENS))
    assert_layers(outputs, TOKENS, encoder)
    if variant == "every step clips":
        largest = np.abs(outputs["lstm_outputs1"]).max()
        assert largest == pytest.approx(0.02)


def test_bfloat16_encoder(encoder, exported, tmp_path):
    """A model in bfloat16 is computed in float32."""
    low = encoder.with_dtype("bfloat16")
    outputs = Session(low, tmp_path / "model.onnx")(char_ids(TOKENS))
    exact = numpy_of(ElmoEmbedding(low.with_dtype("float32"))(char_ids(TOKENS)))
    np.testing.assert_allclose(outputs["elmo"], exact, atol=TOLERANCE, rtol=0)
    assert np.abs(outputs["elmo"] - exported(char_ids(TOKENS))["elmo"]).max() > 1e-4


def test_export_of_saved_model(tmp_path):
    layer = embedding()
    layer.encoder.tokenizer = "whitespace"
    export_weights(layer, tmp_path / "saved_model")
    session = Session(str(tmp_path / "saved_model"), tmp_path / "model.onnx")
    assert_equal(session(char_ids(TOKENS)), in_memory(layer), TOLERANCE)
    metadata = session.session.get_modelmeta()
    assert metadata.custom_metadata_map["tokenizer"] == "whitespace"
    assert metadata.producer_name == "keras_elmo"


def test_file_size(tmp_path):
    """The file holds the weights and little else."""
    encoder = build_encoder(ElmoConfig.preset("mini"))
    export_onnx(encoder, tmp_path / "model.onnx")
    weights = 4 * encoder.count_params()
    assert weights < (tmp_path / "model.onnx").stat().st_size < weights + 50_000


@pytest.mark.parametrize("lengths", [[5] * 4, [40], [0, 0], [1, 9, 9, 2, 30, 1]])
def test_segments(lengths, exported, encoder, monkeypatch, tmp_path):
    """However the steps are cut, rows of any lengths have the same vectors."""
    sentences = [[f"w{k}" for k in range(length)] for length in lengths]
    monkeypatch.setattr(onnx_recurrence, "_MAX_POSITIONS", 3)
    for session in (exported, Session(encoder, tmp_path / "model.onnx")):
        assert_layers(session(char_ids(sentences)), sentences, encoder)


# ---------------------------------------------------------------- int8


def test_int8(tmp_path):
    """Int8 is close to float32, takes a quarter of the room, and says what it costs."""
    encoder = build_encoder(ElmoConfig.preset("mini"))
    exact = Session(encoder, tmp_path / "float32.onnx")
    cosines = export_onnx(encoder, tmp_path / "int8.onnx", quantize="int8")
    assert list(cosines) == ["lstm_outputs1", "lstm_outputs2", "elmo"]
    assert all(0.98 < cosine <= 1 for cosine in cosines.values()), cosines
    session = onnxruntime.InferenceSession(tmp_path / "int8.onnx")
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["keras_elmo"])["least_cosines"] == cosines
    outputs = session.run(exact.names, {"char_ids": char_ids(TOKENS)})
    wanted = exact(char_ids(TOKENS))
    for name, output in zip(exact.names, outputs, strict=True):
        difference = np.abs(output - wanted[name]).max()
        assert 0 < difference < 0.05 * np.abs(wanted[name]).max() or (
            name == "sequence_len" and difference == 0
        ), name
    sizes = [(tmp_path / f"{name}.onnx").stat().st_size for name in ("int8", "float32")]
    assert sizes[0] < 0.4 * sizes[1]


_RUN = """
import sys
import numpy as np
import onnxruntime
options = onnxruntime.SessionOptions()
# Threads that wait are slow there.
options.intra_op_num_threads = 1
for name in sys.argv[1:]:
    session = onnxruntime.InferenceSession(name + ".onnx", options)
    (ids,) = session.get_inputs()
    outputs = session.run(None, {ids.name: np.load(name + ".npy")})
    np.savez(name, *outputs)
"""


def run_on_haswell(files, folder):
    """Returns the outputs of ONNX files on a processor with AVX2 and without VNNI.

    Args:
        files: the input of each file, by its name without .onnx.
        folder: where they are.
    """
    if platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None:
        skip_without(
            "needs qemu-x86_64 (Debian: qemu-user), on an x86-64 machine", "QEMU"
        )
    for name, array in files.items():
        np.save(folder / f"{name}.npy", array)
    python = ("qemu-x86_64", "-cpu", "Haswell", sys.executable)
    run(*python, "-c", _RUN, *files, cwd=folder)
    return {name: list(np.load(folder / f"{name}.npz").values()) for name in files}


def test_int8_without_vnni(encoder, exported, tmp_path, monkeypatch):
    """Every processor computes the same; with all 8 bits of a weight it would not."""
    rows = np.ones((2, 64), "float32")
    for name, greatest in (("product", onnx_graph._MAX_WEIGHT), ("all 8 bits", 127)):
        monkeypatch.setattr(onnx_graph, "_MAX_WEIGHT", greatest)
        graph = OnnxGraph("graph", int8=True)
        product = graph.affine(graph.input("x", "float32", ("n", 64)), np.ones((64, 3)))
        graph.output(product, "float32", ("n", 3))
        (tmp_path / f"{name}.onnx").write_bytes(graph.serialize({}))
    monkeypatch.undo()
    export_onnx(encoder, tmp_path / "encoder.onnx", quantize="int8")
    ids = char_ids(TOKENS)
    files = {"product": rows, "all 8 bits": rows, "encoder": ids}
    actual = run_on_haswell(files, tmp_path)
    np.testing.assert_allclose(actual["product"][0], 64, rtol=1e-5)
    assert actual["all 8 bits"][0].max() < 40
    for output, wanted in zip(actual["encoder"], exported(ids).values(), strict=True):
        assert np.abs(output - wanted).max() <= 0.05 * np.abs(wanted).max()


# ---------------------------------------------------------------- what cannot be


def test_replaces_file(encoder, exported, tmp_path):
    path = tmp_path / "not yet" / "model.onnx"
    Session(random_encoder(seed=1), path)
    again = Session(encoder, str(path))
    assert_equal(again(char_ids(TOKENS)), exported(char_ids(TOKENS)))
    assert [entry.name for entry in path.parent.iterdir()] == ["model.onnx"]


def test_invalid_arguments(encoder, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    for source, path, error, said in [
        (CONFIG, "model.onnx", TypeError, "`source` must be"),
        (encoder, "folder", ValueError, "`path` must be a file.*folder"),
    ]:
        with pytest.raises(error, match=said):
            export_onnx(source, tmp_path / path)
    with pytest.raises(ValueError, match="`quantize` must be .*quantize='int4'"):
        export_onnx(encoder, tmp_path / "model.onnx", quantize="int4")
    monkeypatch.setattr(onnx_graph, "_MAX_BYTES", 1000)
    with pytest.raises(ValueError, match=r"model\.onnx: .* bytes, .* at most 1,000"):
        export_onnx(encoder, tmp_path / "model.onnx")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_full_disk(encoder, exported):
    before = exported.path.read_bytes()
    with files_of_at_most(len(before) // 2):
        with pytest.raises(OSError, match=r"cannot be written: .*model\.onnx"):
            export_onnx(encoder, exported.path)
    assert exported.path.read_bytes() == before
    assert [entry.name for entry in exported.path.parent.iterdir()] == ["model.onnx"]


def test_missing_extra(encoder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"Writing ONNX .*'onnx>="):
        export_onnx(encoder, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
