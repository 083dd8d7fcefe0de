"""A checkpoint is an .npz file, of which nothing is unpickled or unpacked."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from keras_elmo.files.checkpoint import (
    PROGRESS,
    DamagedCheckpoint,
    restore_checkpoint,
    save_checkpoint,
)
from keras_elmo.training.recorder import RunState
from tests.files.test_checkpoint import compiled
from tests.helpers.command_line import command
from tests.helpers.runs import write_text

pytestmark = pytest.mark.graph

ARRAY = "model/0000.npy"
BIG = 3 << 28


class Touching:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.fixture(scope="module")
def model():
    return compiled()


@pytest.fixture(scope="module")
def members(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "checkpoint.npz"
    save_checkpoint(path, model, RunState(positions=[(0, 0)]).to_json())
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def header(description, shape):
    """The beginning of an array, without its numbers."""
    stream = io.BytesIO()
    fields = {"descr": description, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue()


PICKLE = pickle.dumps(Touching())
ARRAYS = {
    "objects": lambda shape: npy(np.full(shape, Touching(), dtype=object)),
    "a pickle": lambda shape: header("|O", shape) + PICKLE,
    "nothing but a pickle": lambda shape: PICKLE,
    "objects of no shape": lambda shape: header("|O", ()) + PICKLE,
    "a trillion": lambda shape: header("<f4", (10**6, 10**6)),
    "wide numbers": lambda shape: header(f"|V{BIG}", shape),
    "strings": lambda shape: npy(np.full(shape, "text")),
    "doubles": lambda shape: npy(np.ones(shape)),
    "code": lambda shape: header("<f4", shape).replace(b"False", b"exit()"),
    "a long header": lambda shape: b"\x93NUMPY\x01\x00\xff\xff" + b" " * 65535,
    "cut short": lambda shape: header("<f4", shape),
    "nothing": lambda shape: b"",
}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("array", ARRAYS)
def test_bad_array(array, model, members, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shape = tuple(model.variables[0].shape)
    path = tmp_path / "spoilt.npz"
    write(path, {**members, ARRAY: ARRAYS[array](shape)})
    with pytest.raises(ValueError, match=r"spoilt\.npz: "):
        restore_checkpoint(path, model)
    assert not (tmp_path / "ran").exists()


def test_arrays_would_run(tmp_path, monkeypatch):
    """What is refused above does something where it is unpickled."""
    monkeypatch.chdir(tmp_path)
    content = io.BytesIO(ARRAYS["objects"]((2,)))
    np.load(content, allow_pickle=True)
    assert (tmp_path / "ran").exists()


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(("name", "size"), [(ARRAY, BIG), (PROGRESS, 1), ("more", 1)])
def test_compressed_member(name, size, model, members, tmp_path):
    """800 MB in 4 MB are not unpacked to find out."""
    path = tmp_path / "spoilt.npz"
    others = {other: members[other] for other in members if other != name}
    write(path, others)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open(name, "w", force_zip64=True) as stream:
            for start in range(0, size, 1 << 24):
                stream.write(bytes(min(size - start, 1 << 24)))
    with pytest.raises(DamagedCheckpoint, match=r"spoilt\.npz: .* not be compressed"):
        restore_checkpoint(path, model)


def test_names_with_folders(model, members, tmp_path):
    """Names that lead out are names."""
    path = tmp_path / "spoilt.npz"
    more = {"../outside": b"x", f"{tmp_path}/outside": b"x"}
    write(path, {**members, **more})
    restore_checkpoint(path, model)
    assert [entry.name for entry in tmp_path.iterdir()] == ["spoilt.npz"]


STATES = {
    "nested": b"[" * 100_000,
    "a list": b"[]",
    "not UTF-8": b"\xff",
    "many bytes": b" " * (1 << 25) + b"{}",
}


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("state", STATES)
def test_bad_progress_json(state, model, members, tmp_path):
    path = tmp_path / "spoilt.npz"
    write(path, {**members, PROGRESS: STATES[state]})
    if state == "many bytes":
        # As many as the file has: no more is taken than that.
        assert restore_checkpoint(path, model) == {}
        return
    with pytest.raises(DamagedCheckpoint, match=r"spoilt\.npz: progress\.json"):
        restore_checkpoint(path, model)


@pytest.mark.parametrize(
    "change",
    [
        {"places": 3},
        {"places": [[1]]},
        {"rows": [{"step": 1}]},
        {"interval": {"more": 1}},
        {"more": 1},
        {"rows": None},
    ],
    ids=str,
)
def test_bad_state(change):
    state = json.loads(json.dumps(RunState(positions=[(0, 0)]).to_json()))
    assert RunState.from_json(state, "run") == RunState(positions=[(0, 0)])
    with pytest.raises(ValueError, match="not the state of a run"):
        RunState.from_json({**state, **change}, "run")


@pytest.mark.usefixtures("eagerly")
def test_resume_from_pickle(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path / "text.txt")
    sizes = ("--preset", "tiny", "--num-sampled", "4", "--batch-tokens", "132")
    files = ("pretrain", "--corpus", "text.txt", "--out", "run", *sizes)
    assert command(*files, "--steps", "1")[0] == 0
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    checkpoint.write_bytes(PICKLE)
    status, _, err = command(*files, "--steps", "2", "--resume")
    assert status == 2
    assert f"skipped a damaged checkpoint: {checkpoint.relative_to(tmp_path)}" in err
    assert err.splitlines()[-1].startswith("keras-elmo: error: run/checkpoints: none")
    assert not (tmp_path / "ran").exists()
