"""What a folder holds is found out, and told."""

import json
import shutil

import numpy as np
import pytest

import keras_elmo
from keras_elmo.files.exported_sources import ExportedModel, OnnxFile
from keras_elmo.files.loading import kind_of
from keras_elmo.files.run_sources import PublishedFolder, Run, RunCheckpoint
from keras_elmo.importing.checkpoint import BilmCheckpoint
from keras_elmo.importing.hub import HubModule
from keras_elmo.importing.models import EVERY_KIND, FOREIGN, import_model
from tests.command_line import assert_one_line, command
from tests.files.pretrained import write_pretrained
from tests.files.test_published import write_random
from tests.importing.bilm_files import (
    STEP,
    WORDS,
    module_variables,
    write_checkpoint,
    write_module,
)
from tests.models.small import CONFIG

pytestmark = pytest.mark.graph

OUR_WORDS = ["<S>", "</S>", "<UNK>", "the", "배", "bank"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """One of each kind, by its name."""
    folder = tmp_path_factory.mktemp("models")
    write_checkpoint(folder / "checkpoint")
    write_module(folder / "hub", module_variables(CONFIG.to_options())[0])
    (folder / "published").mkdir()
    options, weights = write_random(folder / "published")
    options.rename(folder / "published" / "elmo_small_options.json")
    weights.rename(folder / "published" / "elmo_small_weights.hdf5")
    write_pretrained(folder / "run", CONFIG, OUR_WORDS)
    keras_elmo.export_saved_model(
        folder / "run", folder / "exported", tokenizer=None, language_model=True
    )
    return folder


KINDS = {
    "checkpoint": BilmCheckpoint,
    "hub": HubModule,
    "published": PublishedFolder,
    "run": Run,
    "exported": ExportedModel,
}


@pytest.mark.parametrize("name", KINDS)
def test_kind(name, models):
    """Among all; and of ours, whatever another program wrote is none."""
    assert kind_of(models / name, EVERY_KIND) is KINDS[name]
    foreign = KINDS[name] in FOREIGN
    assert kind_of(models / name) is (None if foreign else KINDS[name])


def test_published_under_other_names(models, tmp_path):
    """The two files are found by the ends of their names; `load` takes them, too."""
    assert command("import", models / "published", "--out", tmp_path / "ours")[0] == 0
    ours, theirs = keras_elmo.load(tmp_path / "ours"), models / "published"
    assert ours.config == CONFIG
    for weight, wanted in zip(
        ours.weights, keras_elmo.load(theirs).weights, strict=True
    ):
        np.testing.assert_array_equal(weight, wanted)


def test_doubt(models, tmp_path):
    """A folder of two kinds needs a flag."""
    both = shutil.copytree(models / "checkpoint", tmp_path / "both")
    shutil.copy(models / "published" / "elmo_small_weights.hdf5", both)
    arguments = ("--vocabulary", both / "vocab.txt", "--out", tmp_path / "ours")
    said = "holds a training folder of bilm-tf and published weights: --checkpoint"
    assert_one_line(*command("import", both, *arguments), str(both), said)
    assert command("import", "--checkpoint", both, *arguments) == (0, "", "")
    shutil.copy(both / "options.json", both / "options2.json")
    said = "must hold one file *options*.json; else name the two files"
    with pytest.raises(ValueError, match=said.replace("*", r"\*")):
        import_model(both, tmp_path / "out", kind="published")


def test_nothing_to_import(models, tmp_path):
    out = tmp_path / "out"
    for name, said in (("run", "a run of keras_elmo"), ("exported", "an exported")):
        result = command("import", models / name, "--out", out)
        assert_one_line(*result, f"is {said}", "nothing to import")
    result = command("import", tmp_path, "--out", out)
    assert_one_line(*result, "holds no model; DIR must be", "token_embedder.pkl")
    # Kinds that `import` refuses are not named.
    assert "onnx" not in result[2] and "training.json" not in result[2]
    nowhere = tmp_path / "nowhere"
    assert_one_line(*command("import", nowhere, "--out", out), "no such file or folder")
    assert_one_line(*command("import", "--out", out), "must say what to import")
    result = command("import", "--options", "o.json", "--out", out)
    assert_one_line(*result, "--options and --weights must be given together")
    words = ("--vocabulary", "vocab.txt")
    result = command("import", models / "published", *words, "--out", out)
    assert_one_line(*result, "--vocabulary applies only to a checkpoint")
    with pytest.raises(ValueError, match="`kind` must be"):
        import_model(models / "hub", out, kind="other")
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="exists already"):
        import_model(models / "hub", tmp_path / "file")


# ---------------------------------------------------------------- inspect


def test_inspect_a_file(models, tmp_path):
    """An .onnx file of either type, and one checkpoint of a run."""
    encoder = keras_elmo.load(models / "run")
    for quantize in (None, "int8"):
        file = tmp_path / f"{quantize}.onnx"
        keras_elmo.export_onnx(encoder, file, quantize=quantize)
        found = keras_elmo.inspect_model(file)
        assert found["kind"] == OnnxFile.kind
        assert found["dtype"] == (quantize or "float32")
        assert found["parameters"]["encoder"] == encoder.count_params()
        assert found["mix"] == keras_elmo.inspect_model(models / "exported")["mix"]
        assert "serve" in found["uses"]
    result = command("import", file, "--out", tmp_path / "out")
    assert_one_line(*result, "is an ONNX file already", "nothing to import")

    run = shutil.copytree(models / "run", tmp_path / "run")
    checkpoint = run / "checkpoints" / "step-00000017.npz"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    found = keras_elmo.inspect_model(checkpoint)
    assert (found["kind"], found["step"]) == (RunCheckpoint.kind, 17)
    assert found["vocabulary"] == len(OUR_WORDS)
    assert "score" in found["uses"]
    assert "pretrain --init" not in found["uses"]
    (run / "weights.hdf5").unlink()
    found = keras_elmo.inspect_model(run)
    assert {"score", "pretrain --resume"} <= set(found["uses"])
    assert "pretrain --init" not in found["uses"]
    elsewhere = tmp_path / "a" / "b" / checkpoint.name
    elsewhere.parent.mkdir(parents=True)
    shutil.copy(checkpoint, elsewhere)
    assert_one_line(*command("inspect", elsewhere), "holds no model")


@pytest.mark.parametrize("name", KINDS)
def test_inspect(name, models):
    """Sizes, words, mix and uses are those of the model, whatever its kind."""
    status, out, err = command("inspect", models / name, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found == keras_elmo.inspect_model(models / name)
    assert found["kind"] == KINDS[name].kind
    assert found["config"]["lstm"] == CONFIG.to_options()["lstm"]
    assert found["vector_units"] == 2 * CONFIG.projection_units
    has_words = name in ("checkpoint", "run", "exported")
    assert found["vocabulary"] == (len(WORDS) if has_words else None)
    softmax = len(WORDS) * (CONFIG.projection_units + 1) if has_words else 0
    encoder = keras_elmo.build_encoder(CONFIG).count_params()
    assert found["parameters"] == {"encoder": encoder, "softmax": softmax}
    has_mix = name in ("hub", "exported")
    assert (found["mix"] is not None) == has_mix
    if has_mix:
        np.testing.assert_allclose(sum(found["mix"]["weights"]), 1, rtol=1e-6)
    assert found["step"] == (STEP if name == "checkpoint" else None)
    imports = name in ("checkpoint", "hub")
    assert found["uses"][0].startswith("import" if imports else "embed")
    assert ("evaluate" in found["uses"]) == (name in ("run", "exported"))


def test_inspect_for_people(models):
    """The same in lines."""
    status, out, _ = command("inspect", models / "exported")
    assert status == 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if " " in line)
    assert lines["sizes"] == (
        "2 layers of 9 LSTM units, projected to 7; 3 vectors of 14 for each word"
    )
    assert lines["mix"] == "0.333 0.333 0.333, gamma 1.000"
    assert lines["vocabulary"] == "6 words"
    assert lines["scripts"] == "Latin 66.7%, Hangul 33.3%"
    assert lines["for"].startswith("embed, nearest, export, pretrain --init, serve")
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


def test_import_of_an_archive(models, tmp_path, monkeypatch):
    """It is unpacked as any archive of a model is."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    packed = shutil.make_archive(tmp_path / "packed", "zip", models / "published")
    result = command("import", packed, "--out", tmp_path / "out")
    assert result == (0, "", "")
    assert keras_elmo.load(tmp_path / "out").config == CONFIG
    result = command("import", "--checkpoint", models / "run", "--out", tmp_path / "no")
    assert_one_line(*result, "run: holds no checkpoint of bilm-tf")
