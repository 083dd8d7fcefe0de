import os
import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest
from huggingface_hub import constants

import keras_elmo
from keras_elmo.embedding.embed_file import embed_file
from keras_elmo.files import finding, loading
from keras_elmo.files.loading import load
from tests.files.test_run_directory import directory, model
from tests.helpers.exports import export_weights
from tests.helpers.fresh_process import ROOT
from tests.helpers.hub import Hub
from tests.helpers.small import assert_same_weights

__all__ = ["directory", "model"]

CARD = """---
language:
- en
- ko
license: cc-by-sa-3.0
tags: [elmo]
---

# A model
"""


@pytest.fixture(autouse=True)
def caches(monkeypatch, tmp_path):
    """Caches of the test's own."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


# ---------------------------------------------------------------- shipped


def test_shipped_models_are_listed(monkeypatch, tmp_path):
    """Names, languages, sizes and licences; `load` takes the names."""
    listed = {model.name: model for model in keras_elmo.list_models()}
    assert list(listed) == ["elmo-en", "elmo-ko"]
    for name, language in (("elmo-en", "en"), ("elmo-ko", "ko")):
        assert listed[name].language == language
        assert listed[name].license == "cc-by-sa-3.0"
        assert 10e6 < listed[name].num_bytes < 60e6
    monkeypatch.setattr(finding, "SHIPPED", tmp_path / "none")
    assert keras_elmo.list_models() == []
    with pytest.raises(ValueError, match="must be a model's path or hf://OWNER/NAME$"):
        load("elmo-en")


def test_a_wheel_has_the_models():
    """`make dist` tries them; here, none is forgotten."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        wheel = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]
    models = {f"saved_models/{name}" for name in finding.shipped_names()}
    wanted = models | {f"{name}.md" for name in models}
    assert wheel["force-include"] == {name: f"keras_elmo/{name}" for name in wanted}


# ---------------------------------------------------------------- archives


@pytest.fixture
def archive(directory, tmp_path):
    """The model in a folder of its own, as `zip -r` makes it."""
    folder = Path(directory.path)
    (folder / "README.md").write_text(CARD)
    made = shutil.make_archive(tmp_path / "packed", "zip", folder.parent, folder.name)
    return Path(made)


def test_folder_name():
    """A dot may stand in it; it does not end like a file, but for a slash behind."""
    for path in ("elmo", "elmo-v1.0", Path("my.model"), "runs.zip/elmo", "elmo.keras/"):
        finding.check_folder_name(path=path)
    said = r"not end in \.tflite: LiteRT is for taggers and classifiers\. Received"
    with pytest.raises(ValueError, match=said):
        finding.check_folder_name(path=Path("runs/elmo.tflite"))
    with pytest.raises(ValueError, match=r"\.tflite, and not end in \.h5"):
        finding.check_folder_name(path="elmo.h5")


def test_archive(archive, model):
    """A .zip is unpacked once, by its content, and listed then."""
    assert_same_weights(load(archive).weights, model.encoder.weights)
    (folder,) = (Path(os.environ["KERAS_HOME"]) / "keras_elmo").iterdir()
    before = folder.stat().st_mtime_ns
    os.utime(archive)
    assert_same_weights(load(str(archive)).weights, model.encoder.weights)
    assert folder.stat().st_mtime_ns == before
    listed = keras_elmo.list_models()[-1]
    assert listed[:2] == (str(folder / "run"), "en, ko")
    assert listed.license == "cc-by-sa-3.0"
    assert_same_weights(load(listed.name).weights, model.encoder.weights)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "take",
    [
        keras_elmo.ElmoEmbedding,
        keras_elmo.ElmoEmbedding.from_saved_model,
        lambda model: list(keras_elmo.embed(model, ["a bank"], layers="mix")),
        lambda model: embed_file(model, __file__, "-", layers="mix"),
        lambda model: export_weights(model, "exported"),
    ],
    ids=["layer", "from_saved_model", "embed", "embed_file", "export"],
)
def test_archive_is_found_once(take, archive, monkeypatch, tmp_path, capfd):
    """Its files are hashed each time."""
    unpacked = []
    unpack = loading.unpack
    monkeypatch.setattr(loading, "unpack", lambda p: unpacked.append(p) or unpack(p))
    monkeypatch.chdir(tmp_path)
    take(str(archive))
    assert len(unpacked) == 1


def test_archive_without_a_folder(directory, model, tmp_path):
    made = shutil.make_archive(tmp_path / "flat", "zip", directory.path)
    assert_same_weights(load(made).weights, model.encoder.weights)


def test_damaged_archive(archive, tmp_path):
    """What is damaged, too large or no model is an error that names it."""
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"damaged\.zip: not a \.zip file"):
        load(damaged)
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("weights.hdf5", bytes(10**6))
    with pytest.raises(ValueError, match="unpacks to 1,000,000 bytes"):
        load(damaged)
    with zipfile.ZipFile(damaged, "w") as file:
        file.writestr("../outside.txt", "no model")
    with pytest.raises(ValueError, match=r"damaged\.zip: holds no model"):
        load(damaged)
    cache = tmp_path / "keras"
    assert all(cache in path.parents for path in tmp_path.rglob("outside.txt"))


# ---------------------------------------------------------------- the Hub


@pytest.fixture
def hub(directory, monkeypatch):
    """A Hub with the model, a card, and a file that is not the model's."""
    files = {
        path.name: path.read_bytes()
        for path in Path(directory.path).iterdir()
        if path.is_file()
    }
    files |= {"README.md": CARD.encode(), "corpus.bin": b"0" * 1000}
    made = Hub("someone/elmo-xx", files)
    with made.running() as address:
        point_to(address, monkeypatch)
        yield made


def point_to(address, monkeypatch):
    """As `HF_ENDPOINT` does, which is read on import."""
    form = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", form)


def test_hub(hub, model, capfd):
    """A repository is downloaded once, and without what is not the model's."""
    for name in ("hf://someone/elmo-xx", "hf://someone/elmo-xx@v1"):
        assert_same_weights(load(name).weights, model.encoder.weights)
    assert sorted(hub.served) == sorted(set(hub.files) - {"corpus.bin"})
    listed = keras_elmo.list_models()[-1]
    assert listed[:2] == ("hf://someone/elmo-xx", "en, ko")


def test_hub_that_is_away(hub, model, monkeypatch):
    """Without a network, the cache does."""
    load("hf://someone/elmo-xx")
    # Nobody listens at this port.
    point_to("http://127.0.0.1:9", monkeypatch)
    assert_same_weights(load("hf://someone/elmo-xx").weights, model.encoder.weights)
    with pytest.raises(OSError, match="hf://someone/other: cannot be down") as error:
        load("hf://someone/other")
    said = "loaded: no connection to the Hub: [Errno "
    assert said in str(error.value) and str(error.value).count("Errno") == 1


def test_damaged_download(hub, tmp_path):
    """Each file is compared with its checksum, large or small."""
    load("hf://someone/elmo-xx")
    for name in ("weights.hdf5", "options.json"):
        (path,) = (tmp_path / "hub").rglob(name)
        content = path.read_bytes()
        path.resolve().write_bytes(content.replace(b"0", b"1", 1))
        with pytest.raises(ValueError, match=rf"{name}: is damaged: its checksum is"):
            load("hf://someone/elmo-xx")
        path.resolve().write_bytes(content)


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("hf://elmo", ValueError, "must have the form hf://OWNER/NAME"),
        ("hf://a/b/c", ValueError, "must have the form hf://OWNER/NAME"),
        (
            "hf://someone/other",
            OSError,
            "hf://someone/other: cannot be downloaded: 404",
        ),
        ("hf://someone/elmo-xx@v2", OSError, "elmo-xx@v2: cannot be downloaded: 404"),
    ],
)
def test_no_such_repository(name, error, said, hub):
    with pytest.raises(error, match=said):
        load(name)


def test_repository_without_a_model(hub):
    del hub.files["options.json"]
    with pytest.raises(ValueError, match="hf://someone/elmo-xx: holds no model"):
        load("hf://someone/elmo-xx")
