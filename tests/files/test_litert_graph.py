"""A tagger in a .tflite file is read wherever one in an .onnx file is."""

import asyncio
import json
import sys
import zipfile

import numpy as np
import pytest

import keras_elmo
from keras_elmo.files.exported_sources import LiteRtFile
from keras_elmo.files.litert_graph import read_stored_description, write_litert_file
from keras_elmo.serving import rest
from keras_elmo.serving.batcher import Batcher
from keras_elmo.serving.limits import Limits
from keras_elmo.serving.versions import ModelManager
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.fresh_process import run_python
from tests.helpers.installed import require_installed
from tests.helpers.small import SENTENCES
from tests.helpers.tasks import TAGS, litert_tagger
from tests.serving.test_rest import asgi

# The graph is traced and converted: 15 s.
pytestmark = [pytest.mark.graph, pytest.mark.slow]
require_installed("tensorflow")


@pytest.fixture(scope="module")
def tagger():
    return litert_tagger()[0]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("litert") / "names.tflite"
    path.write_bytes(litert_tagger()[1])
    return path


def changed(file, path, **changes):
    """A copy of a file with another description; `None` removes an entry."""
    about = {**read_stored_description(file), **changes}
    about = {key: value for key, value in about.items() if value is not None}
    with zipfile.ZipFile(file) as archive:
        end = archive.getinfo("keras_elmo.json").header_offset
    write_litert_file(path, file.read_bytes()[:end], about)
    return path


def check_same(loaded, tagger):
    wanted = tagger.predict(SENTENCES)
    assert loaded.predict(SENTENCES) == loaded.predict(SENTENCES, batch_size=1)
    assert loaded.predict(SENTENCES) == wanted
    pairs = zip(loaded.marginals(SENTENCES), tagger.marginals(SENTENCES), strict=True)
    for (words, actual), (_, probabilities) in pairs:
        assert actual.shape == probabilities.shape == (len(words), len(TAGS))
        np.testing.assert_allclose(actual, probabilities, atol=1e-4)


def test_load(tagger, file):
    loaded = keras_elmo.load(file)
    assert repr(loaded) == f"ExportedTagger({str(file)!r}, tags={TAGS})"
    check_same(loaded, tagger)
    assert loaded.predict(["The bank, closed."]) == tagger.predict(
        ["The bank, closed."]
    )
    wanted = tagger.predict(SENTENCES)
    right = [row if k % 2 else ["O"] * len(row) for k, row in enumerate(wanted)]
    scores = tagger.evaluate(SENTENCES, right)
    assert loaded.evaluate(SENTENCES, right) == scores and 0 < scores["f1"] < 1


def test_interpreter_of_tensorflow(tagger, file, monkeypatch):
    """Where LiteRT is not installed."""
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    check_same(keras_elmo.load(file), tagger)


def test_commands(tagger, file, tmp_path):
    path = tmp_path / "dev.conll"
    words = [sentence for sentence in SENTENCES if sentence]
    pairs = zip(words, tagger.predict(words), strict=True)
    lines = ["\n".join(map("\t".join, zip(*pair, strict=True))) for pair in pairs]
    path.write_text("\n\n".join(lines) + "\n\n", encoding="utf-8")
    asked = ("--model", file, "--corpus", path, "--json")
    status, out, err = command("tag", "evaluate", *asked)
    assert (status, err, json.loads(out)["f1"]) == (0, "", 1)
    status, out, err = command("tag", "predict", "--model", file, "--input", path)
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert (status, err) == (0, "") and all(row[1] == row[2] for row in rows)
    asked = ("--model", file, "--corpus", path)
    said = "names.tflite: must hold a TextClassifier. Received: a Tagger"
    assert_one_line(*command("classify", "evaluate", *asked), said)


def test_inspect(tagger, file):
    actual = keras_elmo.inspect_model(file)
    assert actual["kind"] == "a tagger in a LiteRT file"
    assert (actual["dtype"], actual["tokenizer"]) == ("float32", "unicode")
    assert actual["task"]["names"] == TAGS
    assert actual["uses"] == ["tag predict", "tag evaluate", "serve"]
    assert actual["parameters"]["encoder"] == tagger.elmo.encoder.count_params()
    status, out, _ = command("inspect", file)
    assert status == 0 and "LiteRT" in out.partition("forms")[2]


def test_serve(tagger, file):
    models = ModelManager(file, "elmo", print)
    batcher = Batcher(Limits())
    app = rest.rest_app(models, batcher, Limits(), lambda: True)
    body = {"instances": ["Ada sat here"], "output_filter": ["tags"]}
    try:
        answer = asyncio.run(asgi(app, json.dumps(body).encode()))
    finally:
        batcher.close()
    (wanted,) = tagger.predict(["Ada sat here"])
    assert json.loads(answer[1]) == {"predictions": [{"tags": wanted}]}
    signature = models.model.signature("tokens")
    assert set(signature.outputs) == {"tags", "scores", "sequence_len"}
    assert signature.token_outputs == {"tags", "scores"}


def test_no_encoder(file):
    for reads in (keras_elmo.ElmoEmbedding, keras_elmo.load_language_model):
        with pytest.raises(ValueError, match=r"a LiteRT file has none\..*names\.tf"):
            reads(file)
    for source in (file, keras_elmo.load(file)):
        with pytest.raises(ValueError, match=r"names\.tflite: is a tagger; `model` mu"):
            keras_elmo.embed(source, ["We sat"])


_FRESH = """
import sys
import keras_elmo
tagger = keras_elmo.load(sys.argv[1])
(tags,) = tagger.predict(["The bank, closed."])
assert len(tags) == 5, tags
names = "h5py jax keras onnx onnxruntime torch tensorflow tensorflow_text".split()
print(sorted(set(names) & sys.modules.keys()))
"""


def test_without_tensorflow(file, tmp_path):
    """A process that tags imports neither TensorFlow nor Keras."""
    require_installed("ai_edge_litert")
    printed = run_python("-c", _FRESH, file, cwd=tmp_path)
    assert printed.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": None}, "keras_elmo.json has no task"),
        ({"format": 2}, "the format must be 1"),
        ({"static_words": None}, "inputs must be char_ids"),
    ],
    ids=str,
)
def test_damaged_description(changes, said, file, tmp_path):
    path = changed(file, tmp_path / "bad.tflite", **changes)
    with pytest.raises(ValueError, match=rf"bad\.tflite.*({said})"):
        keras_elmo.load(path)


def test_another_file(tmp_path):
    (tmp_path / "other.tflite").write_bytes(b"TFL3" * 100)
    said = r"other\.tflite: must be a tagger or a classifier that keras_elmo exported"
    for reads in (keras_elmo.load, keras_elmo.inspect_model):
        with pytest.raises(ValueError, match=said):
            reads(tmp_path / "other.tflite")
    assert LiteRtFile.matches(str(tmp_path / "other.tflite"))
