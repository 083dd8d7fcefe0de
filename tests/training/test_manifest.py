import dataclasses
import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training.manifest import check_manifest, prepare_run_directory
from keras_elmo.training.training_data import TrainingData
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.locks import held
from tests.helpers.runs import CONFIG, on_batches, ready_made, write_text

MANIFEST = {
    "kind_of_corpus": "text",
    "corpus": [["a.txt", 10], ["b.txt", 20], ["b.txt", 30]],
    "validation": [["held-out.txt", 9]],
    "seed": 0,
}


def begin(files, until_end, words=None, manifest=MANIFEST, count=None, resume=False):
    options = TrainingOptions(CONFIG, "text.txt", resume=resume)
    count = count or (lambda: (words, {"num_sampled": 4}))
    prepare_run_directory(files, until_end, CONFIG, manifest, options, count, print)


@pytest.fixture
def files(tmp_path):
    """A directory in which a run has begun."""
    files = PretrainingDirectory(tmp_path / "run")
    with ExitStack() as until_end:
        begin(files, until_end)
    return files


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"corpus": [["a.txt", 10]]}, r"b\.txt: this file of `corpus`.* is not there"),
        (
            {"corpus": [*MANIFEST["corpus"], ["c.txt", 1]]},
            r"c\.txt: this file was not part of `corpus` .*training\.json",
        ),
        ({"corpus": MANIFEST["corpus"][::-1]}, "files of `corpus` come in another ord"),
        # Two files have one name.
        (
            {"corpus": [["a.txt", 10], ["b.txt", 20], ["b.txt", 31]]},
            r"b\.txt: this file of `corpus` had 30 bytes .*training\.json.* has 31",
        ),
        ({"validation": [["other.txt", 9]]}, r"held-out\.txt: this file of `valid"),
        ({"validation": None}, "`validation` must be given: the run of"),
        (
            {"kind_of_corpus": "batches"},
            r"`corpus` must be text, as when .*training\.json.*: batches",
        ),
        ({"seed": 1}, r"`seed` must be 0, as in .*training\.json.*seed=1"),
        (
            {"config": 10},
            r"`config` must be that of .*options\.json.*units=10",
        ),
    ],
    ids=str,
)
def test_other_arguments(changed, said, files):
    """A run goes on with its own arguments, or not at all."""
    check_manifest(files, CONFIG, MANIFEST)
    units = changed.get("config", CONFIG.units)
    config = dataclasses.replace(CONFIG, units=units)
    with pytest.raises(ValueError, match=said):
        check_manifest(files, config, {**MANIFEST, **changed})


def test_validation_that_was_not_there(tmp_path):
    files = PretrainingDirectory(tmp_path / "run")
    with ExitStack() as until_end:
        begin(files, until_end, manifest={**MANIFEST, "validation": None})
    with pytest.raises(ValueError, match="`validation` must not be given: the run"):
        check_manifest(files, CONFIG, MANIFEST)


def test_other_corpus(tmp_path):
    """The sizes of a `Corpus` belong to the run."""
    words = Vocabulary([*SPECIALS, "the", "of", "saw"])
    text = write_text(tmp_path / "text.txt")
    sizes = {"batch_tokens": 36, "max_tokens": 9, "seed": 3}

    def manifest(**changed):
        corpus = Corpus(text, words, "whitespace", **{**sizes, **changed})
        options = TrainingOptions(CONFIG, corpus, corpus)
        return TrainingData(options, None, None, (0, 1), compiles=False).manifest

    files = PretrainingDirectory(tmp_path / "run")
    with ExitStack() as until_end:
        begin(files, until_end, manifest=manifest())
    check_manifest(files, CONFIG, manifest())
    for name, value in (("batch_tokens", 72), ("max_tokens", 8), ("seed", 4)):
        said = rf"`corpus\.{name}` must be {sizes[name]}, as in .*={value}"
        with pytest.raises(ValueError, match=said):
            check_manifest(files, CONFIG, manifest(**{name: value}))
    with pytest.raises(ValueError, match="`corpus` must be a Corpus, .*: text"):
        check_manifest(files, CONFIG, {**manifest(), "kind_of_corpus": "text"})


@pytest.fixture
def another_process(tmp_path):
    """Holds the folder until it is killed; returns its number."""
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


# Python 3.12 and JAX warn about threads, which the other process does not use.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
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
    """Two commands count words; the first to finish begins the run."""
    files = PretrainingDirectory(tmp_path / "run")
    with ExitStack() as first, ExitStack() as second:

        def count():
            # Meanwhile the other has counted, too, and begins.
            begin(files, second)
            return None, {}

        with pytest.raises(ValueError, match="another process trains in"):
            begin(files, first, manifest={**MANIFEST, "seed": 1}, count=count)
        assert files.read_manifest().items() >= MANIFEST.items()


def begin_and_fail(path, error):
    """Begins a run, which an error ends; returns what is left of it."""
    words = Vocabulary([*SPECIALS, "bank"], [0, 0, 1, 2])
    files = PretrainingDirectory(path)
    with pytest.raises(error), ExitStack() as until_end:
        begin(files, until_end, words, resume=True)
        os.makedirs(files.checkpoints, exist_ok=True)
        (path / "history.csv").touch()
        raise error
    return set(os.listdir(path)) if path.exists() else None


def test_failed_run_leaves_nothing(tmp_path):
    """A run that fails before its first checkpoint can begin again."""
    (tmp_path / "empty").mkdir()
    assert begin_and_fail(tmp_path / "run", ValueError) is None
    assert begin_and_fail(tmp_path / "empty", ValueError) == set()
    kept = {
        "checkpoints",
        "history.csv",
        "options.json",
        "training.json",
        "vocabulary.counts.txt",
        "vocabulary.txt",
    }
    # Whoever presses Ctrl-C resumes.
    assert begin_and_fail(tmp_path / "run", KeyboardInterrupt) == kept
    # The run is not new.
    assert begin_and_fail(tmp_path / "run", ValueError) == kept


def test_failed_run_keeps_checkpoints(tmp_path):
    files = PretrainingDirectory(tmp_path / "run")
    with pytest.raises(ValueError), ExitStack() as until_end:
        begin(files, until_end)
        os.makedirs(files.checkpoints)
        for step in (0, 7):
            Path(files.checkpoints, f"step-{step:08}.npz").touch()
        raise ValueError
    assert files.holds_a_run()
