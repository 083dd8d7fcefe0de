"""An .onnx file is served as a SavedModel is, without TensorFlow."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from keras_elmo.export.onnx import export_onnx
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.serving.model import Model
from keras_elmo.serving.onnx_model import OnnxModel
from keras_elmo.serving.versions import ModelManager
from tests.helpers.exports import SENTENCES, TOKENS, embedding, padded
from tests.helpers.fresh_process import environment, run_python

pytestmark = pytest.mark.graph

LENGTHS = np.array([len(tokens) for tokens in TOKENS], "int32")
INPUTS = {
    "default": {"strings": np.array([text.encode() for text in SENTENCES], object)},
    "tokens": {"tokens": padded(TOKENS, 12), "sequence_len": LENGTHS},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    layer = embedding()
    layer.encoder.tokenizer = "unicode"
    export_saved_model(layer, folder / "saved_model")
    export_onnx(layer, folder / "model.onnx")
    return folder


@pytest.mark.parametrize("name", ["saved_model", "model.onnx"])
def test_text_without_spaces(name, folder):
    """The first request with such text warns."""
    cls = OnnxModel if name.endswith(".onnx") else Model
    signature = cls(folder / name, 1).signature("default")
    strings = np.array(["我们坐在河岸上看船".encode()], object)
    with pytest.warns(UserWarning, match="about 100 % of the letters"):
        signature({"strings": strings}, ["sequence_len"])
    assert signature({"strings": strings}, ["sequence_len"])["sequence_len"] == [1]


@pytest.mark.parametrize("name", INPUTS)
def test_signatures(name, folder):
    """Both signatures return what those of the SavedModel return."""
    wanted = Model(folder / "saved_model", 1).signature(name)
    found = OnnxModel(folder / "model.onnx", 1).signature(name)
    assert found.outputs == wanted.outputs
    assert found.arguments == wanted.arguments
    assert found.token_argument == wanted.token_argument
    inputs = INPUTS[name]
    one, other = (each(inputs, found.outputs) for each in (found, wanted))
    for output in found.outputs:
        np.testing.assert_allclose(one[output], other[output], atol=1e-5, rtol=0)
    counted = found(inputs, ["sequence_len"])["sequence_len"]
    np.testing.assert_array_equal(counted, LENGTHS)


def test_definitions(folder):
    """Clients are told the same of the signatures, but for names in the graph."""
    models = Model(folder / "saved_model", 1), OnnxModel(folder / "model.onnx", 1)
    for name in INPUTS:
        ours, theirs = (
            {
                side: {key: each["dtype"] for key, each in definition[side].items()}
                for side in ("inputs", "outputs")
            }
            for definition in (model.signature_defs[name] for model in models)
        )
        assert ours == theirs


def test_manager(folder):
    """The file is version 1, and is not loaded again."""
    logged = []
    manager = ModelManager(folder / "model.onnx", "elmo", logged.append)
    model = manager.model
    assert (type(model), model.version) == (OnnxModel, 1)
    manager.refresh()
    assert manager.model is model and logged == []


def test_damaged_file(tmp_path):
    """A damaged file is refused."""
    (tmp_path / "model.onnx").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"model\.onnx: cannot be read"):
        ModelManager(tmp_path / "model.onnx", "elmo", print)


_FRESH = """
import sys
import keras_elmo.serving.server
from keras_elmo.serving.onnx_model import OnnxModel
OnnxModel(sys.argv[1], 1)
print(sorted({"tensorflow", "keras"} & sys.modules.keys()))
"""


def test_without_tensorflow(folder):
    """A server of such a file imports neither TensorFlow nor Keras."""
    printed = run_python("-c", _FRESH, folder / "model.onnx", cwd=folder)
    assert printed.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_command(folder):
    """`keras-elmo serve` answers over REST alone, and ends in order."""
    path = folder / "model.onnx"
    command = [sys.executable, "-m", "keras_elmo", "serve", "--model", path]
    with subprocess.Popen(
        list(map(str, [*command, "--port", 0])),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            said = process.stdout.readline()
            ready = r"keras-elmo: serving model, version 1, at (http://\S+/model)\n"
            url = re.fullmatch(ready, said)[1]
            body = json.dumps({"inputs": SENTENCES, "output_filter": ["default"]})
            with urllib.request.urlopen(f"{url}:predict", body.encode(), 60) as answer:
                found = json.load(answer)["outputs"]["default"]
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "keras-elmo: stopped\n")
    wanted = OnnxModel(path, 1).signature("default")(INPUTS["default"], ["default"])
    np.testing.assert_allclose(found, wanted["default"], atol=1e-5, rtol=0)
