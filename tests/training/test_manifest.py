import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training.manifest import prepare_run_directory
from keras_elmo.utils.locks import held
from tests.helpers.fresh_process import environment
from tests.helpers.runs import CONFIG, ready_made
from tests.training.test_pretrain import on_batches

_HOLD = (
    "import sys, time\n"
    "from keras_elmo.utils.locks import held\n"
    "with held(sys.argv[1], ''):\n"
    "    print('held', flush=True)\n"
    "    time.sleep(1000)\n"
)


@pytest.fixture
def another_process(tmp_path):
    """Holds the folder until it is killed."""
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment(), text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_lock_is_held_until_death(another_process, tmp_path):
    """Another process is noticed until it dies."""
    with pytest.raises(ValueError, match=f"another process trains in {tmp_path}"):
        on_batches(ready_made(4), tmp_path, steps=1, resume=True)
    assert os.listdir(tmp_path) == []
    another_process.send_signal(signal.SIGKILL)
    another_process.wait()
    with held(tmp_path, "in use"):
        pass


def test_two_begin_in_new_directory(tmp_path):
    """Counting words takes long, and there is nothing to hold before."""
    files = PretrainingDirectory(tmp_path / "run")
    recipe = {"corpus": None, "seed": 0}

    def arguments(lock, recipe):
        return files, lock, CONFIG, recipe

    with ExitStack() as first, ExitStack() as second:

        def count():
            # Meanwhile the other has counted, too, and begins.
            prepare_run_directory(
                *arguments(second, recipe), lambda: None, lambda words: {}, False, print
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
