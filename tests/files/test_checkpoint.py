import io
import tempfile
import zipfile
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from keras_elmo.files import checkpoint
from keras_elmo.files.checkpoint import (
    Checkpoints,
    DamagedCheckpoint,
    restore_checkpoint,
    save_checkpoint,
)
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training.optimizers import PublishedAdagrad
from keras_elmo.utils.files import write_json
from tests.helpers.layer_checks import numpy_of
from tests.helpers.limits import files_of_at_most
from tests.helpers.runs import CONFIG

pytestmark = pytest.mark.graph

PROGRESS = {"step": 3, "words": 77, "seconds": 1.5, "places": [[1, 2]]}
BITS = strategies.integers(0, 7)


def compiled(vocabulary_size=13):
    model = build_pretraining_model(CONFIG, vocabulary_size, num_sampled=4)
    model.compile(optimizer=PublishedAdagrad())
    model.optimizer.build(model.trainable_variables)
    return model


def state(model):
    """Everything that the next step depends on."""
    return [*model.variables, *model.optimizer.variables]


def disturb(model):
    """Gives every variable a value of its own."""
    rng = np.random.default_rng(0)
    for variable in state(model):
        value = rng.uniform(1, 9, size=variable.shape)
        variable.assign(value.astype(variable.dtype))


def test_round_trip(tmp_path):
    model, other = compiled(), compiled()
    disturb(model)
    save_checkpoint(tmp_path / "checkpoint.npz", model, PROGRESS)
    assert restore_checkpoint(tmp_path / "checkpoint.npz", other) == PROGRESS
    for restored, wanted in zip(state(other), state(model), strict=True):
        np.testing.assert_array_equal(numpy_of(restored), numpy_of(wanted))
        assert restored.dtype == wanted.dtype
    # Seeds among it: one of the candidates, one of each dropout.
    assert sum("seed" in variable.path for variable in model.variables) >= 3
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_integers_of_another_backend(tmp_path):
    """JAX has seeds of uint32 and counts updates in int32."""
    model, other = compiled(), compiled()
    disturb(model)
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, model, PROGRESS)
    with zipfile.ZipFile(path) as file:
        content = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, value in content.items():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(value))
                if array.dtype.kind == "i":
                    array = array.astype("uint32")
                np.save(written := io.BytesIO(), array)
                value = written.getvalue()
            file.writestr(name, value)
    assert restore_checkpoint(path, other) == PROGRESS
    for restored, wanted in zip(state(other), state(model), strict=True):
        np.testing.assert_array_equal(numpy_of(restored), numpy_of(wanted))


def test_other_model(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, compiled(), PROGRESS)
    with pytest.raises(ValueError, match=r"checkpoint\.npz: .*shape \(14, 7\)"):
        restore_checkpoint(path, compiled(14))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A model, its state, and the bytes of its checkpoint."""
    model = compiled()
    disturb(model)
    path = tmp_path_factory.mktemp("checkpoint") / "checkpoint.npz"
    save_checkpoint(path, model, PROGRESS)
    return model, numpy_of(state(model)), path.read_bytes()


def test_unreadable_is_not_damaged(written, tmp_path):
    """It may be whole, and is not to be passed over for an earlier one."""
    model, *_ = written
    path = tmp_path / "checkpoint.npz"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        restore_checkpoint(path, model)


@hypothesis.given(place=strategies.floats(0, 1, exclude_max=True), bit=BITS)
def test_flipped_bit(place, bit, written):
    """A bit that fell over is noticed or means nothing."""
    model, wanted, content = written
    flipped = bytearray(content)
    flipped[int(place * len(content))] ^= 1 << bit
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint.npz")
        path.write_bytes(flipped)
        try:
            assert restore_checkpoint(path, model) == PROGRESS
        except DamagedCheckpoint:
            return
    for restored, array in zip(numpy_of(state(model)), wanted, strict=True):
        np.testing.assert_array_equal(restored, array)


def test_full_disk_keeps_old_file(written, tmp_path):
    """The file's size is bounded, as on a full disk."""
    model, _, content = written
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(content)
    with files_of_at_most(len(content) // 2), pytest.raises(OSError):
        save_checkpoint(path, model, PROGRESS)
    assert path.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]


# ---------------------------------------------------------------- several of them


@pytest.fixture
def saved(monkeypatch, tmp_path):
    """Saves files that hold their progress alone; "damaged" ones cannot be read."""

    def save(path, model, progress):
        if progress == "no space":
            raise OSError(28, "No space left on device")
        with open(path, "w", encoding="utf-8") as file:
            file.write(progress)

    def restore(path, model, check):
        with open(path, encoding="utf-8") as file:
            progress = file.read()
        if progress == "damaged":
            raise DamagedCheckpoint(f"{path}: not a whole checkpoint")
        check(progress)
        return progress

    def saved(*steps, keep=3):
        checkpoints = Checkpoints(str(tmp_path), keep)
        for step in steps:
            checkpoints.save(step, None, f"of step {step}")
        return checkpoints

    monkeypatch.setattr(checkpoint, "save_checkpoint", save)
    monkeypatch.setattr(checkpoint, "restore_checkpoint", restore)
    return saved


def ignore(anything):
    pass


def test_last_ones_are_kept(saved):
    assert saved(5, 10, 15, 20, 100_000_000).steps() == [15, 20, 100_000_000]
    assert saved(100_000_001, keep=1).steps() == [100_000_001]


def test_last_one_is_restored(saved, tmp_path):
    told = []
    assert saved(5, 10).restore(None, told.append, ignore) == "of step 10"
    assert told == []
    nothing = Checkpoints(str(tmp_path / "none"))
    assert nothing.restore(None, told.append, ignore) is None


def test_damaged_one_is_skipped(saved):
    told = []
    checkpoints = saved(5, 10)
    checkpoints.save(15, None, "damaged")
    assert checkpoints.restore(None, told.append, ignore) == "of step 10"
    assert len(told) == 1 and "step-00000015.npz" in told[0]


def test_all_damaged(saved, tmp_path):
    """Without a whole one nothing begins anew."""
    checkpoints = saved()
    checkpoints.save(15, None, "damaged")
    with pytest.raises(ValueError, match=f"{tmp_path}: none of its checkpoints is"):
        checkpoints.restore(None, ignore, ignore)


def test_later_steps_are_removed(saved):
    """The run went on from step 10, because 15 was damaged, and writes step 12."""
    checkpoints = saved(5, 10, 15)
    checkpoints.save(12, None, "of step 12")
    assert checkpoints.steps() == [5, 10, 12]


def test_full_disk_keeps_others(saved):
    """What cannot be written costs none of the others."""
    checkpoints = saved(5, 10, 15)
    with pytest.raises(
        OSError,
        match=r"step-00000020\.npz: cannot be written: No space .*step-00000015\.npz",
    ):
        checkpoints.save(20, None, "no space")
    assert checkpoints.steps() == [5, 10, 15]


def test_full_disk_message(tmp_path, monkeypatch):
    def save(path, model, progress):
        write_json(path, list(range(1000)))

    monkeypatch.setattr(checkpoint, "save_checkpoint", save)
    path = tmp_path / "step-00000005.npz"
    with files_of_at_most(1000), pytest.raises(OSError) as caught:
        Checkpoints(tmp_path, 3).save(5, None, {})
    said = f"{path}: cannot be written: File too large; there is no earlier one"
    assert str(caught.value) == said


def test_other_files_are_ignored(saved, tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / ".step-00000007.npz.1.part").write_text("half", encoding="utf-8")
    assert saved(1, 2, 3, 4).steps() == [2, 3, 4]
    assert (tmp_path / "notes.txt").exists()
