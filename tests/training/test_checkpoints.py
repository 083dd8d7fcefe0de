import pytest

from keras_elmo.training import checkpoint as checkpoints
from keras_elmo.training.checkpoint import Checkpoints, DamagedCheckpoint
from keras_elmo.utils.files import write_json
from tests.full_disk import files_of_at_most


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    """Files that hold their progress alone; "damaged" ones cannot be read."""

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

    monkeypatch.setattr(checkpoints, "save_checkpoint", save)
    monkeypatch.setattr(checkpoints, "restore_checkpoint", restore)


def ignore(anything):
    pass


def saved(folder, *steps, keep=3):
    found = Checkpoints(str(folder), keep)
    for step in steps:
        found.save(step, None, f"of step {step}")
    return found


def test_the_last_few_are_kept(tmp_path):
    assert saved(tmp_path, 5, 10, 15, 20, 100_000_000).steps() == [15, 20, 100_000_000]
    assert saved(tmp_path, 100_000_001, keep=1).steps() == [100_000_001]


def test_the_last_one_is_restored(tmp_path):
    told = []
    assert saved(tmp_path, 5, 10).restore(None, told.append, ignore) == "of step 10"
    assert told == []
    nothing = Checkpoints(str(tmp_path / "none"))
    assert nothing.restore(None, told.append, ignore) is None


def test_a_damaged_one_is_skipped_with_a_warning(tmp_path):
    told = []
    found = saved(tmp_path, 5, 10)
    found.save(15, None, "damaged")
    assert found.restore(None, told.append, ignore) == "of step 10"
    assert len(told) == 1 and "step-00000015.npz" in told[0]


def test_without_a_whole_one_nothing_begins_anew(tmp_path):
    found = saved(tmp_path)
    found.save(15, None, "damaged")
    with pytest.raises(ValueError, match=f"{tmp_path}: none of its checkpoints is"):
        found.restore(None, ignore, ignore)


def test_those_of_steps_that_are_repeated_go(tmp_path):
    """The run went on from step 10, because 15 was damaged, and writes step 12."""
    found = saved(tmp_path, 5, 10, 15)
    found.save(12, None, "of step 12")
    assert found.steps() == [5, 10, 12]


def test_what_cannot_be_written_costs_none_of_the_others(tmp_path):
    found = saved(tmp_path, 5, 10, 15)
    with pytest.raises(
        OSError,
        match=r"step-00000020\.npz: cannot be written: No space .*step-00000015\.npz",
    ):
        found.save(20, None, "no space")
    assert found.steps() == [5, 10, 15]


def test_a_full_disk_is_told_in_one_breath(tmp_path, monkeypatch):
    def save(path, model, progress):
        write_json(path, list(range(1000)))

    monkeypatch.setattr(checkpoints, "save_checkpoint", save)
    path = tmp_path / "step-00000005.npz"
    with files_of_at_most(1000), pytest.raises(OSError) as caught:
        Checkpoints(tmp_path, 3).save(5, None, {})
    said = f"{path}: cannot be written: File too large; there is no earlier one"
    assert str(caught.value) == said


def test_other_files_are_none_of_its_business(tmp_path):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / ".step-00000007.npz.1.part").write_text("half", encoding="utf-8")
    assert saved(tmp_path, 1, 2, 3, 4).steps() == [2, 3, 4]
    assert (tmp_path / "notes.txt").exists()
