import os
import shutil
import threading

import pytest

from keras_elmo.files.saved_model import ASSETS, DESCRIPTION
from keras_elmo.serving import versions
from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.model import Model
from keras_elmo.serving.versions import Versions


class Loaded:
    """A model that is loaded at once, unless its folder has a file `damaged`."""

    loads: list[int] = []

    def __init__(self, path, version):
        Loaded.loads.append(version)
        if (path / "damaged").exists():
            raise ValueError(f"{path}: cannot be loaded")
        self.version = version
        self.in_use = threading.Event()

    def wait_until_unused(self):
        while self.in_use.is_set():
            threading.Event().wait(0.01)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "Model", Loaded)
    monkeypatch.setattr(Loaded, "loads", [])
    return tmp_path


def add(folder, name, damaged=False):
    assets = folder / name / ASSETS
    assets.mkdir(parents=True)
    (assets / DESCRIPTION).write_text("{}")
    if damaged:
        (folder / name / "damaged").touch()


def states(served):
    return {
        int(state["version"]): state["state"] for state in served.status(served.name)
    }


@pytest.fixture
def said():
    return []


@pytest.fixture
def start(folder, said):
    return lambda: Versions(folder, "elmo", said.append)


def test_an_exported_model_is_version_1(folder, start):
    add(folder, ".")
    add(folder, "7")
    served = start()
    assert served.model.version == 1
    served.refresh()
    assert Loaded.loads == [1]


def test_the_newest_is_served(folder, start):
    for name in ("1", "00000010", "9", "x11", "12.5", "-3", "٣"):
        add(folder, name)
    (folder / "99").write_text("a file")
    served = start()
    assert (served.model.version, Loaded.loads) == (10, [10])
    assert served.find("elmo") is served.find("elmo", 10) is served.model


def test_a_newer_one_takes_its_place(folder, start, said):
    add(folder, "1")
    served = start()
    served.refresh()
    assert Loaded.loads == [1] and said == []
    add(folder, "2")
    served.refresh()
    assert served.model.version == 2
    assert states(served) == {1: "END", 2: "AVAILABLE"}
    assert said == ["version 2 is served instead of 1"]
    # The newest comes first, as from TensorFlow Serving.
    assert [state["version"] for state in served.status("elmo")] == ["2", "1"]


def test_the_one_before_finishes_what_it_has_begun(folder, start):
    add(folder, "1")
    served = start()
    before = served.find("elmo")
    before.in_use.set()
    add(folder, "2")
    switching = threading.Thread(target=served.refresh)
    switching.start()
    while served.model is before or states(served)[1] == "AVAILABLE":
        assert switching.is_alive()
    assert states(served) == {1: "UNLOADING", 2: "AVAILABLE"}
    before.in_use.clear()
    switching.join(10)
    assert states(served) == {1: "END", 2: "AVAILABLE"}


def test_a_damaged_one_changes_nothing_until_it_changes(folder, start, said):
    add(folder, "1")
    served = start()
    add(folder, "2", damaged=True)
    for _ in range(3):
        served.refresh()
    assert served.model.version == 1
    assert Loaded.loads == [1, 2]
    (told,) = said
    assert told.startswith("version 2 is not served: ")
    (state, _) = served.status("elmo")
    assert state["state"] == "END"
    assert state["status"]["error_code"] == "INVALID_ARGUMENT"
    assert "cannot be loaded" in state["status"]["error_message"]
    (folder / "2" / "damaged").unlink()
    served.refresh()
    assert served.model.version == 2
    assert states(served) == {1: "END", 2: "AVAILABLE"}


def test_one_that_goes_away_is_replaced_by_the_one_before(folder, start):
    add(folder, "1")
    add(folder, "2")
    served = start()
    shutil.rmtree(folder / "2")
    served.refresh()
    assert served.model.version == 1
    # The last one stays, whatever becomes of its files.
    shutil.rmtree(folder / "1")
    served.refresh()
    assert served.model.version == 1
    os.rmdir(folder)
    served.refresh()
    assert served.model.version == 1


def test_what_there_is_not(folder, start):
    with pytest.raises(ValueError, match="`model` must be an exported model"):
        start()
    add(folder, "1", damaged=True)
    with pytest.raises(ValueError, match="cannot be loaded"):
        start()
    add(folder, "3")
    served = start()
    for name, version in [("other", None), ("elmo", 1), ("elmo", 4), ("other", 3)]:
        with pytest.raises(ServingError) as error:
            served.find(name, version)
        assert error.value.code is Code.NOT_FOUND
    with pytest.raises(ServingError, match="Could not find version 1 of model elmo"):
        served.status("elmo", 1)
    with pytest.raises(ServingError, match="Could not find any versions of model x"):
        served.status("x")


# ---------------------------------------------------------------- real ones


@pytest.mark.parametrize(
    "damage",
    ["saved_model.pb", "variables/variables.index", "nothing but the description"],
)
def test_a_damaged_model_is_named(damage, exported, tmp_path):
    folder = tmp_path / "model"
    if damage.startswith("nothing"):
        shutil.copytree(exported / ASSETS, folder / ASSETS)
    else:
        shutil.copytree(exported, folder)
        (folder / damage).write_bytes((folder / damage).read_bytes()[:100])
    with pytest.raises(ValueError, match=f"{folder}: cannot be loaded"):
        Model(folder, 1)


def test_a_model_waits_for_those_who_use_it(model):
    model.wait_until_unused()
    with model.in_use(), model.in_use():
        waiting = threading.Thread(target=model.wait_until_unused)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_signature_there_is_not(model):
    assert model.signature("") is model.signature("default")
    with pytest.raises(ServingError, match="there are default, serving_default, tok"):
        model.signature("classify")
