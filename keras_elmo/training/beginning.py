"""What stands in a run's directory before its first step."""

import os
from collections.abc import Callable
from typing import Any

from keras_elmo.atomic import is_leftover, remove_leftovers
from keras_elmo.config import ElmoConfig
from keras_elmo.files.directory import PretrainingDirectory
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.directory_lock import DirectoryLock
from keras_elmo.training.recipe import check_recipe


def begin(
    files: PretrainingDirectory,
    lock: DirectoryLock,
    config: ElmoConfig,
    recipe: dict[str, Any],
    make_vocabulary: Callable[[], Vocabulary | None],
    resume: bool,
    tell: Callable[[str], None],
) -> None:
    """Writes the recipe and the vocabulary, or checks those of a run to go on with.

    Nothing is written before the words are counted, so there is nothing to lose then.

    Args:
        files: of the run.
        lock: of its directory; taken before anything of another process is touched.
        config: the sizes.
        recipe: what has to be the same when the run goes on.
        make_vocabulary: returns the words to predict; `None` if there is no text.
        resume: whether the directory may hold the run already.
        tell: told what a person should know.

    Raises:
        ValueError: the directory holds something else, or another run; or another
            process trains there.
    """
    lock.acquire()
    _check_directory(files, resume)
    check_recipe(files, config, recipe)
    if resume and not files.holds_a_run():
        # The same command then serves a machine that may be taken away at any time.
        tell(f"{files.path} holds no run to go on with: one begins")
    exists = os.path.exists(files.vocabulary)
    vocabulary = None if exists else make_vocabulary()
    os.makedirs(files.path, exist_ok=True)
    lock.acquire()
    # While the words were counted, the same command may have begun in a new directory.
    _check_directory(files, resume)
    check_recipe(files, config, recipe)
    files.write_recipe(config, recipe)
    if vocabulary is not None:
        vocabulary.save(files.vocabulary)
    for folder in (files.path, files.checkpoints):
        remove_leftovers(folder)


def _check_directory(files: PretrainingDirectory, resume: bool) -> None:
    if files.holds_a_run():
        if not resume:
            raise ValueError(
                "`directory` must not hold a run yet, unless `resume` is set: "
                f"{files.path}"
            )
        return
    names = os.listdir(files.path) if os.path.exists(files.path) else []
    if not all(map(is_leftover, names)):
        raise ValueError(
            "`directory` must be empty, or not exist, or hold a run: "
            f"{files.path} holds something else"
        )
