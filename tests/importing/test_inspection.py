"""What a model is, whatever its kind: its sizes, words, mix and uses."""

import json
import os
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.downstream import task_export
from keras_elmo.files.exported_sources import OnnxFile
from keras_elmo.files.run_sources import RunCheckpoint
from keras_elmo.importing.models import FOREIGN
from tests.helpers.bilm_files import STEP, WORDS
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.small import CONFIG
from tests.helpers.tasks import random_classifier, random_tagger
from tests.importing.conftest import KINDS, OUR_WORDS

pytestmark = pytest.mark.graph


def test_inspect_a_file(models, tmp_path):
    """An .onnx file of either type, and one checkpoint of a run."""
    encoder = keras_elmo.load(models / "run")
    for quantize in (None, "int8"):
        file = tmp_path / f"{quantize}.onnx"
        keras_elmo.export_onnx(encoder, file, quantize=quantize)
        described = keras_elmo.inspect_model(file)
        assert described["kind"] == OnnxFile.kind
        assert described["dtype"] == (quantize or "float32")
        assert described["parameters"]["encoder"] == encoder.count_params()
        assert described["mix"] == keras_elmo.inspect_model(models / "exported")["mix"]
        assert described["uses"] == ["embed", "nearest", "distill", "serve"]
    result = command("import", file, "--out", tmp_path / "out")
    assert_one_line(*result, "is an ONNX file already", "nothing to import")

    run = shutil.copytree(models / "run", tmp_path / "run")
    checkpoint = run / "checkpoints" / "step-00000017.npz"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    described = keras_elmo.inspect_model(checkpoint)
    assert (described["kind"], described["step"]) == (RunCheckpoint.kind, 17)
    assert described["vocabulary"] == len(OUR_WORDS)
    assert "score" in described["uses"]
    assert "pretrain --init" not in described["uses"]
    (run / "weights.hdf5").unlink()
    described = keras_elmo.inspect_model(run)
    assert {"score", "pretrain --resume"} <= set(described["uses"])
    assert "pretrain --init" not in described["uses"]
    elsewhere = tmp_path / "a" / "b" / checkpoint.name
    elsewhere.parent.mkdir(parents=True)
    shutil.copy(checkpoint, elsewhere)
    said = (
        "holds no model; MODEL must be a .keras file, an exported model, an ONNX file"
    )
    assert_one_line(*command("inspect", elsewhere), said)


TASKS = {
    "tagger": ("tag", random_tagger),
    "classifier": ("classify", random_classifier),
}


@pytest.mark.parametrize("kind", TASKS)
def test_inspect_a_task(kind, tmp_path):
    """A tagger or a classifier, in each kind of file; no encoder is read from one."""
    command_name, make = TASKS[kind]
    model = make()
    model.export(tmp_path / "task.onnx", quantize="int8")
    model.save(tmp_path / "task.keras")
    names = model.tags if kind == "tagger" else model.labels
    for name, where in (("task.onnx", "an ONNX file"), ("task.keras", "a .keras file")):
        described = keras_elmo.inspect_model(tmp_path / name)
        assert described["kind"] == f"a {kind} in {where}"
        assert described["task"]["kind"] == kind
        assert described["task"]["names"] == [*names]
        uses = [f"{command_name} predict", f"{command_name} evaluate"]
        more = ["export"] if "keras" in name else []
        assert described["uses"] == [*uses, *more, "serve"]
        assert described["dtype"] == ("int8" if name == "task.onnx" else "float32")
        assert described["parameters"]["encoder"] == model.elmo.encoder.count_params()
        json.dumps(described)
        status, out, _ = command("inspect", tmp_path / name)
        assert status == 0 and f"a {kind} in {where}" in out
        with pytest.raises(ValueError, match=f"{name}: is a {kind}.*must be an? "):
            keras_elmo.embed(tmp_path / name, ["We sat"])
        result = command(
            "embed", "--model", tmp_path / name, "--input", "x", "--out", "-"
        )
        assert_one_line(*result)
    with pytest.raises(TypeError, match="whose attribute `elmo` is one"):
        keras_elmo.embed(model, ["We sat"])
    with pytest.raises(ValueError, match=f"is a {kind}; `model` must be an encoder"):
        keras_elmo.embed(keras_elmo.load(tmp_path / "task.onnx"), ["We sat"])


def test_inspect_a_saved_model_of_a_task(tmp_path, monkeypatch):
    # To trace the signatures takes 15 s; nothing here reads the graph.
    monkeypatch.setattr(task_export, "add_signatures", lambda *_: {"tokens": None})
    monkeypatch.setattr(tf.saved_model, "save", lambda module, path, _: os.mkdir(path))
    random_tagger(static=None).export(tmp_path / "names")
    described = keras_elmo.inspect_model(tmp_path / "names")
    assert described["kind"] == "a tagger in a SavedModel"
    assert described["task"]["names"][0] == "O" and described["uses"] == ["serve"]
    for reads in (keras_elmo.load_language_model, keras_elmo.ElmoEmbedding):
        with pytest.raises(ValueError, match="is a tagger; .* must be an encoder"):
            reads(tmp_path / "names")
    with pytest.raises(ValueError, match="is a tagger in a SavedModel, which tf.saved"):
        keras_elmo.load(tmp_path / "names")


def test_inspect_another_keras_file(tmp_path):
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(
        tmp_path / "other.keras"
    )
    with pytest.raises(ValueError, match=r"other\.keras: holds neither a Tagger nor"):
        keras_elmo.inspect_model(tmp_path / "other.keras")
    (tmp_path / "damaged.keras").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"damaged\.keras: cannot be read"):
        keras_elmo.inspect_model(tmp_path / "damaged.keras")


@pytest.mark.parametrize("name", KINDS)
def test_inspect(name, models):
    """Sizes, words, mix and uses are those of the model, whatever its kind."""
    status, out, err = command("inspect", models / name, "--json")
    assert (status, err) == (0, "")
    described = json.loads(out)
    assert described == keras_elmo.inspect_model(models / name)
    assert described["kind"] == KINDS[name].kind
    assert described["config"]["lstm"] == CONFIG.to_options()["lstm"]
    assert described["vector_units"] == 2 * CONFIG.projection_units
    has_words = name in ("checkpoint", "run", "exported")
    assert described["vocabulary"] == (len(WORDS) if has_words else None)
    softmax = len(WORDS) * (CONFIG.projection_units + 1) if has_words else 0
    encoder = keras_elmo.build_encoder(CONFIG).count_params()
    assert described["parameters"] == {"encoder": encoder, "softmax": softmax}
    has_mix = name in ("hub", "exported")
    assert (described["mix"] is not None) == has_mix
    if has_mix:
        np.testing.assert_allclose(sum(described["mix"]["weights"]), 1, rtol=1e-6)
    assert described["step"] == (STEP if name == "checkpoint" else None)
    imports = KINDS[name] in FOREIGN
    assert described["uses"][0].startswith("import" if imports else "embed")
    assert ("evaluate" in described["uses"]) == (name in ("run", "exported"))


def test_inspect_for_people(models):
    status, out, _ = command("inspect", models / "exported")
    assert status == 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if " " in line)
    assert lines["sizes"] == (
        "2 layers of 9 LSTM units, projected to 7; 3 vectors of 14 for each word"
    )
    assert lines["mix"] == "0.333 0.333 0.333, gamma 1.000"
    assert lines["vocabulary"] == "6 words"
    assert lines["scripts"] == "Latin 66.7%, Hangul 33.3%"
    encoder = "embed, nearest, distill, explore, export, tag train, classify train"
    assert lines["for"] == (
        f"{encoder}, pretrain --init, serve, evaluate, score, substitutes"
    )
    _, out, _ = command("inspect", models / "run")
    assert f"{encoder}, pretrain --init, pretrain --resume, evaluate, score" in out
    assert "docs/models.md" in lines["forms"]
    result = command("inspect", models / "nowhere")
    assert_one_line(*result, str(models / "nowhere"))


def test_inspect_damage(models, tmp_path):
    """Weights that are cut short, and words that are none."""
    run = tmp_path / "run"
    shutil.copytree(models / "run", run)
    weights = run / "weights.hdf5"
    content = weights.read_bytes()
    for size, said in ((500, "too few for the"), (len(content) - 300, "not a readabl")):
        weights.write_bytes(content[:size])
        with pytest.raises(ValueError, match=f"weights.hdf5: .*{said}"):
            keras_elmo.inspect_model(run)
    weights.write_bytes(content)
    (run / "vocabulary.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocabulary.txt: lines 1 to 3 must be <S>"):
        keras_elmo.inspect_model(run)
