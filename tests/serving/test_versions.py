import os
import shutil
import threading

import pytest

from keras_elmo.files.finding import ASSETS, DESCRIPTION
from keras_elmo.serving import versions
from keras_elmo.serving.limits import Code, ServingError
from keras_elmo.serving.versions import ModelManager

pytestmark = pytest.mark.graph


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
def freed():
    """Has an item for each collection of garbage, which takes a second."""
    return []


@pytest.fixture
def folder(tmp_path, monkeypatch, freed):
    monkeypatch.setattr(versions, "load_version", Loaded)
    monkeypatch.setattr(versions, "freeze_garbage", lambda: freed.append(True))
    monkeypatch.setattr(Loaded, "loads", [])
    return tmp_path


def add(folder, *names, damaged=False):
    for name in names:
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
    return lambda: ModelManager(folder, "elmo", said.append)


def test_exported_model_is_version_1(folder, start):
    add(folder, ".", "7")
    served = start()
    assert served.model.version == 1
    served.refresh()
    assert Loaded.loads == [1]


def test_newest_version(folder, start):
    add(folder, "1", "00000010", "9", "x11", "12.5", "-3", "٣")
    (folder / "99").write_text("a file")
    served = start()
    assert (served.model.version, Loaded.loads) == (10, [10])
    assert served.find("elmo") is served.find("elmo", 10) is served.model


def test_newer_version_replaces(folder, start, said, freed):
    """The former version finishes its requests first."""
    add(folder, "1")
    served = start()
    served.refresh()
    assert Loaded.loads == [1] and said == freed == []
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
    assert served.model.version == 2 and freed == [True]
    assert said == ["version 2 is served instead of 1"]
    # The newest comes first, as from TensorFlow Serving.
    assert [state["version"] for state in served.status("elmo")] == ["2", "1"]


def test_damaged_versions_are_skipped(folder, start, said):
    """They are tried again when their files change; the status has the reason."""
    add(folder, "1", "2")
    # Folders of one number are told apart.
    add(folder, "3", "4", "04", damaged=True)
    served = start()
    assert (served.model.version, Loaded.loads) == (2, [4, 4, 3, 2])
    assert states(served) == {4: "END", 3: "END", 2: "AVAILABLE"}
    assert [told.split(":")[0] for told in said] == [
        "version 4 is not served",
        "version 3 is not served",
    ]
    (state,) = served.status("elmo", 3)
    assert state["status"] == {
        "error_code": "INVALID_ARGUMENT",
        "error_message": f"{folder / '3'}: cannot be loaded",
    }
    add(folder, "5", damaged=True)
    for _ in range(3):
        served.refresh()
    assert served.model.version == 2
    assert Loaded.loads == [4, 4, 3, 2, 5] and len(said) == 3
    (folder / "3" / "damaged").unlink()
    served.refresh()
    assert (served.model.version, Loaded.loads[5:]) == (3, [3])
    assert states(served) == {5: "END", 4: "END", 3: "AVAILABLE", 2: "END"}


def test_number_of_many_bits(folder, start, said):
    """A version that no client could name is skipped, and is in no status."""
    add(folder, "9" * 19, "9" * 200, str(2**63))
    with pytest.raises(ValueError, match="a version must be at most 9,223,372,036"):
        start()
    add(folder, str(2**63 - 1))
    served = start()
    assert states(served) == {2**63 - 1: "AVAILABLE"}
    assert len(said) == 3 and all("must be at most" in told for told in said)


def test_error_of_any_kind(folder, start, said, monkeypatch):
    """It is said once, and the version is not loaded again each second."""
    add(folder, "1")
    served = start()

    def load(path, version):
        raise RuntimeError

    monkeypatch.setattr(versions, "load_version", load)
    add(folder, "2")
    for _ in range(3):
        served.refresh()
    assert said == ["version 2 is not served: RuntimeError"]
    assert served.status("elmo", 2)[0]["status"]["error_message"] == "RuntimeError"


def test_removed_version(folder, start):
    """The model stays, whatever becomes of its files."""
    add(folder, "1", "2")
    served = start()
    for path in (folder / "2", folder / "1"):
        shutil.rmtree(path)
        served.refresh()
        assert served.model.version == 1
    os.rmdir(folder)
    served.refresh()
    assert served.model.version == 1


def test_unknown_versions(folder, start, said):
    with pytest.raises(ValueError, match="`model` must be an exported model"):
        start()
    add(folder, "1", "2", damaged=True)
    with pytest.raises(ValueError, match=f"{folder / '2'}: cannot be loaded"):
        start()
    assert said == []
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
