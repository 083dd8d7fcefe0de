"""A SavedModel is a program. Its weights and sizes are read, it is not run."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.embedding.embedder import embed
from keras_elmo.files.loading import load
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.exports import TOKENS

pytestmark = pytest.mark.graph

HUGE = 10**12


class Writing(tf.saved_model.experimental.TrackableResource):
    """Something that is made when a SavedModel is loaded: here, a file."""

    def __init__(self, path):
        super().__init__()
        self._path = path

    def _create_resource(self):
        return tf.raw_ops.StackV2(max_size=1, elem_type=tf.float32)

    def _initialize(self):
        tf.io.write_file(self._path, "written by a graph")


class Program(tf.Module):
    """Reads and writes files when it is loaded, and when it is called."""

    def __init__(self, path):
        super().__init__()
        self.resource = Writing(path)
        self._path = path

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "strings")])
    def default(self, strings):
        self.resource.resource_handle  # noqa: B018
        tf.io.write_file(self._path, tf.io.read_file("/etc/hostname"))
        return {"elmo": strings}


@pytest.fixture
def program(saved_model, tmp_path):
    """An exported model whose graph is another one, and the file that it writes."""
    written = tmp_path / "written"
    program = Program(str(written))
    tf.saved_model.save(program, tmp_path / "program", {"default": program.default})
    written.unlink(missing_ok=True)
    graph = Path(saved_model) / "saved_model.pb"
    shutil.copy(tmp_path / "program" / "saved_model.pb", graph)
    return saved_model, written


def test_tensorflow_runs_graph(program, tmp_path):
    """TensorFlow runs the graph when it loads it: the test below can fail."""
    _, written = program
    tf.saved_model.load(str(tmp_path / "program"))
    assert written.read_text(encoding="utf-8") == "written by a graph"


@pytest.mark.usefixtures("eagerly")
def test_graph_is_not_run(program, tmp_path):
    """keras_elmo reads weights and sizes, and does not run the graph."""
    path, written = program
    ElmoEmbedding.from_saved_model(path)
    assert len(list(embed(load(path), TOKENS))) == len(TOKENS)
    text = tmp_path / "text.txt"
    text.write_text("the bank\n", encoding="utf-8")
    for name, out in (
        ("export", ("--out", tmp_path / "out.onnx")),
        ("embed", ("--input", text, "--out", tmp_path / "out.hdf5")),
    ):
        status, *said = command(name, "--model", path, *out)
        assert status == 0, said
    assert not written.exists()


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, None], ids=str)
def test_graph_is_not_read(content, saved_model):
    """The graph may be damaged or missing."""
    graph = Path(saved_model) / "saved_model.pb"
    graph.unlink()
    if content is not None:
        graph.write_bytes(content)
    assert len(load(saved_model).weights) > 20


# ---------------------------------------------------------------- variables


def write_variables(folder, changes):
    """Writes the variables anew, some of them others: a tensor, and its shape there."""
    prefix = str(Path(folder) / "variables" / "variables")
    reader = tf.train.load_checkpoint(prefix)
    tensors = {
        name: (reader.get_tensor(name), "")
        for name in reader.get_variable_to_shape_map()
        if name.endswith("VARIABLE_VALUE")
    }
    for name, change in changes.items():
        tensors[f"{name}/.ATTRIBUTES/VARIABLE_VALUE"] = change
    names = list(tensors)
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=names,
        shape_and_slices=[tensors[name][1] for name in names],
        tensors=[tf.constant(tensors[name][0]) for name in names],
    )


VARIABLES = {
    "strings": (np.full((262, 3), b"x" * 1000, dtype=object), ""),
    "integers": (np.ones((262, 3), "int64"), ""),
    "another shape": (np.ones((3, 262), "float32"), ""),
    "a scalar": (np.float32(1), ""),
    # A part of a whole that the file says is of 4 TB.
    "huge": (np.ones((1, 1), "float32"), "1000000 1000000 0,1:0,1"),
}


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("change", VARIABLES)
@pytest.mark.parametrize("name", ["encoder_weights/0", "mix_scalars"])
def test_variables(name, change, saved_model):
    """Variables of another type or shape are an error of one line."""
    write_variables(saved_model, {name: VARIABLES[change]})
    where = os.path.join(saved_model, "variables")
    with pytest.raises((ValueError, OSError), match=f"^{where}[^\n]*{name}[^\n]*$"):
        ElmoEmbedding.from_saved_model(saved_model)


def varint(value):
    """An integer as the file's index has it."""
    parts = []
    while value >= 128:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("size", [1 << 33, 1 << 40, 1 << 60, (1 << 64) - 1])
def test_index_size(size, saved_model, tmp_path):
    index = Path(saved_model) / "variables" / "variables.index"
    content = index.read_bytes()
    places = b"".join(map(varint, (0, 8, 0, size)))
    index.write_bytes(content[:-48] + places.ljust(40, b"\0") + content[-8:])
    result = command("export", "--model", saved_model, "--out", tmp_path / "out")
    assert_one_line(*result, os.path.join(saved_model, "variables"))


def test_paths(tmp_path):
    for path in ("../../../etc", "/proc/self", "/dev/zero", "a\nb", "x" * 5000):
        result = command("export", "--model", path, "--out", tmp_path / "out")
        assert_one_line(*result)
    assert list(tmp_path.iterdir()) == []
