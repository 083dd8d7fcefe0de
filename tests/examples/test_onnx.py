"""The example that embeds text without TensorFlow, Keras or this package."""

import importlib.util

import numpy as np
import pytest

from keras_elmo.export.onnx import export_onnx
from tests.helpers import numpy_reference
from tests.helpers.exports import SENTENCES, TOKENS, embedding, in_memory
from tests.helpers.fresh_process import ROOT, run_python

SCRIPT = ROOT / "examples" / "11_onnx.py"


@pytest.fixture(scope="module")
def example():
    """The script as a module; its name is none that can be imported."""
    spec = importlib.util.spec_from_file_location("onnx_example", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        # It finds its neighbours as a script does.
        patch.syspath_prepend(SCRIPT.parent)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    export_onnx(embedding(), path)
    return path


def test_it_spells_words_as_the_package_does(example):
    tokens = [*TOKENS, ["y" * 48], ["z" * 49], ["뱅" * 17, "<S>", "\N{GRINNING FACE}"]]
    rows = [numpy_reference.character_ids(each) for each in tokens]
    np.testing.assert_array_equal(example.char_ids(tokens), numpy_reference.pad(rows))


def test_its_vectors_are_those_of_the_layer(example, model):
    wanted = in_memory(embedding())["elmo"]
    found = example.embed(str(model), TOKENS)
    assert [len(vectors) for vectors in found] == [len(tokens) for tokens in TOKENS]
    for vectors, row in zip(found, wanted, strict=True):
        np.testing.assert_allclose(vectors, row[: len(vectors)], atol=1e-5)


def test_it_runs_where_none_of_them_can_be_imported(model, tmp_path):
    for name in ("tensorflow", "keras", "keras_elmo", "onnx", "h5py"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('it is not here')")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(SENTENCES), encoding="utf-8")
    files = ("--model", model, "--input", text)
    output = run_python(SCRIPT, *files, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    sizes = [line.partition(":")[0] for line in output.splitlines()]
    assert sizes == [f"({len(tokens)}, 14)" for tokens in TOKENS if tokens]
