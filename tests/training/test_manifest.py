import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training.manifest import prepare_run_directory
from keras_elmo.utils.locks import held
from tests.helpers.runs import CONFIG, ready_made
from tests.training.test_pretrain import on_batches


@pytest.fixture
def another_process(tmp_path):
    """Holds the folder until it is killed; its number."""
    seen, told = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException), held(str(tmp_path), "in use"):
            os.write(told, b"!")
            time.sleep(100)
        os._exit(1)
    os.close(told)
    assert os.read(seen, 1) == b"!"
    os.close(seen)
    return child


# Of Python 3.12 about threads, which the other process does not use.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_lock_is_held_until_death(another_process, tmp_path):
    """Another process is noticed until it dies."""
    with pytest.raises(ValueError, match=f"another process trains in {tmp_path}"):
        on_batches(ready_made(4), tmp_path, steps=1, resume=True)
    assert os.listdir(tmp_path) == []
    os.kill(another_process, signal.SIGKILL)
    os.waitpid(another_process, 0)
    with held(str(tmp_path), "in use"):
        pass


def test_two_begin_in_new_directory(tmp_path):
    """Counting words takes long, and there is nothing to hold before."""
    files = PretrainingDirectory(tmp_path / "run")
    recipe = {"corpus": None, "seed": 0}

    def arguments(lock, recipe):
        return files, lock, CONFIG, recipe, {}

    with ExitStack() as first, ExitStack() as second:

        def count():
            # Meanwhile the other has counted, too, and begins.
            prepare_run_directory(
                *arguments(second, recipe),
                lambda: None,
                lambda words: {},
                False,
                print,
            )

        with pytest.raises(ValueError, match="another process trains in"):
            prepare_run_directory(
                *arguments(first, {**recipe, "seed": 1}),
                count,
                lambda words: {},
                False,
                print,
            )
        assert files.read_manifest() == recipe


def begun(path, error):
    """Begins a run, which an error ends; returns what is left of it."""
    files = PretrainingDirectory(path)
    words = Vocabulary([*SPECIALS, "bank"], [0, 0, 1, 2])
    with pytest.raises(error), ExitStack() as until_end:
        prepare_run_directory(
            files,
            until_end,
            CONFIG,
            {"corpus": None},
            {},
            lambda: words,
            lambda words: {},
            True,
            print,
        )
        os.makedirs(files.checkpoints, exist_ok=True)
        (path / "history.csv").touch()
        raise error
    return set(os.listdir(path)) if path.exists() else None


def test_failed_run_leaves_nothing(tmp_path):
    """A run that fails before there is anything to resume can be begun again."""
    (tmp_path / "empty").mkdir()
    assert begun(tmp_path / "run", ValueError) is None
    assert begun(tmp_path / "empty", ValueError) == set()
    kept = {
        "checkpoints",
        "history.csv",
        "options.json",
        "training.json",
        "vocabulary.counts.txt",
        "vocabulary.txt",
    }
    # Whoever presses Ctrl-C resumes.
    assert begun(tmp_path / "run", KeyboardInterrupt) == kept
    # The run is not new.
    assert begun(tmp_path / "run", ValueError) == kept


def test_failed_run_keeps_checkpoints(tmp_path):
    def fail_later(files):
        with ExitStack() as until_end:
            prepare_run_directory(
                files,
                until_end,
                CONFIG,
                {"corpus": None},
                {},
                lambda: None,
                lambda words: {},
                False,
                print,
            )
            os.makedirs(files.checkpoints)
            for step in (0, 7):
                Path(files.checkpoints, f"step-{step:08}.npz").touch()
            raise ValueError

    files = PretrainingDirectory(tmp_path / "run")
    with pytest.raises(ValueError):
        fail_later(files)
    assert files.holds_a_run()
