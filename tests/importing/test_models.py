"""What a folder holds is found out, and told."""

import shutil

import pytest

import keras_elmo
from keras_elmo.files.finding import FOREIGN_FORMATS
from keras_elmo.files.loading import find_kind
from keras_elmo.files.run_sources import PublishedFolder
from keras_elmo.importing.models import EVERY_KIND, FOREIGN, import_model
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.small import CONFIG, assert_same_weights
from tests.importing.conftest import KINDS

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("name", KINDS)
def test_kind(name, models):
    """Among all; and of ours, whatever another program wrote is none."""
    assert find_kind(models / name, EVERY_KIND) is KINDS[name]
    foreign = KINDS[name] in FOREIGN
    assert find_kind(models / name) is (None if foreign else KINDS[name])


def test_published_under_other_names(models, tmp_path):
    """The two files are found by the ends of their names; `load` takes them, too."""
    assert command("import", models / "published", "--out", tmp_path / "ours")[0] == 0
    ours, theirs = keras_elmo.load(tmp_path / "ours"), models / "published"
    assert ours.config == CONFIG
    assert_same_weights(ours.weights, keras_elmo.load(theirs).weights)


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
    # Kinds that `import` refuses are not named.
    *names, last = (kind.kind for kind in (*FOREIGN, PublishedFolder))
    said = f"holds no model; DIR must be {', '.join(names)} or {last}\n"
    assert_one_line(*result, said)
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


def test_import_of_an_archive(models, tmp_path, monkeypatch):
    """It is unpacked as any archive of a model is."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    packed = shutil.make_archive(tmp_path / "packed", "zip", models / "published")
    result = command("import", packed, "--out", tmp_path / "out")
    assert result == (0, "", "")
    assert keras_elmo.load(tmp_path / "out").config == CONFIG
    result = command("import", "--checkpoint", models / "run", "--out", tmp_path / "no")
    assert_one_line(*result, "run: holds no checkpoint of bilm-tf")


def test_every_format_is_read():
    assert {kind.key for kind in FOREIGN} == {*FOREIGN_FORMATS}
