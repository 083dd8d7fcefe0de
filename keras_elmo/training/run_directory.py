"""One process at a time in a run's directory."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import keras

from keras_elmo.config import ElmoConfig
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.utils.files import is_leftover, lock, remove_leftovers


class DirectoryLock:
    """Holds a directory until its `with` block is left, or the process has died.

    Two processes with one command, such as a run that is started again before it has
    ended, would write over each other. Where the system or the disk knows no locks,
    nothing is held.

    Args:
        path: the directory; it need not exist yet.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None

    def __enter__(self) -> "DirectoryLock":
        return self

    def acquire(self) -> None:
        """Takes the directory, if it exists by now.

        Raises:
            ValueError: another process holds it.
        """
        if self._descriptor is not None or not os.path.isdir(self._path):
            return
        descriptor = os.open(self._path, os.O_RDONLY)
        if not lock(descriptor):
            os.close(descriptor)
            raise ValueError(
                "`directory` must not be in use: another process trains in "
                f"{self._path}"
            )
        self._descriptor = descriptor

    def __exit__(self, *error: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def learning_rate_config(learning_rate: Any) -> Any:
    """Returns a number as it is, and a schedule as Keras writes it down.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(learning_rate, keras.optimizers.schedules.LearningRateSchedule):
        return keras.optimizers.schedules.serialize(learning_rate)
    try:
        return float(learning_rate)
    except TypeError as error:
        raise TypeError(
            "`learning_rate` must be a number or a Keras LearningRateSchedule. "
            f"Received: learning_rate={learning_rate!r}"
        ) from error


def readable_path(path: str | os.PathLike[str]) -> str:
    """Returns a path as JSON can hold it: Linux has names that are no UTF-8."""
    return os.fsencode(path).decode(errors="backslashreplace")


def check_manifest(
    files: PretrainingDirectory, config: ElmoConfig, manifest: dict[str, Any]
) -> None:
    """A run goes on as it began, or not at all.

    Raises:
        ValueError: an argument, or a file of the corpus, is another than before.
    """
    if not files.holds_a_run():
        return
    before = files.read_manifest()
    if os.path.exists(files.options):
        begun = ElmoConfig.from_options(files.options)
        for field in dataclasses.fields(config):
            was, now = (getattr(each, field.name) for each in (begun, config))
            if now != was:
                raise ValueError(
                    f"`config` must be that of the run, {files.options}, where "
                    f"`{field.name}` is {was!r}. Received: {field.name}={now!r}"
                )
    for name, value in manifest.items():
        if name == "kind_of_corpus":
            _check_kind(files.training, before.get(name), value)
        elif name in ("corpus", "validation"):
            _check_shards(name, files.training, before.get(name), value)
        elif before.get(name) != value:
            raise ValueError(
                f"`{name}` must be {before.get(name)!r}, as in {files.training}. "
                f"Received: {name}={value!r}"
            )


def _check_kind(training: str, before: Any, now: str) -> None:
    if before != now:
        raise ValueError(
            f"`corpus` must be {before}, as when the run began: {training}. Received: "
            f"{now}"
        )


def _check_shards(argument: str, training: str, before: Any, now: Any) -> None:
    if before == now:
        return
    if before is None or now is None:
        raise ValueError(
            f"`{argument}` must be {'no text' if before is None else 'text'}, as when "
            f"the run began: {training}"
        )
    shards = _shards(argument, training, before)
    names, sizes = zip(*shards, strict=True)
    found_names, found_sizes = zip(*now, strict=True)
    for name in names:
        if name not in found_names:
            raise ValueError(
                f"{name}: this file of `{argument}`, with which the run of {training} "
                "began, is not there"
            )
    for name in found_names:
        if name not in names:
            raise ValueError(
                f"{name}: this file was not part of `{argument}` when the run of "
                f"{training} began; a new run can begin from its weights"
            )
    if names != found_names:
        raise ValueError(
            f"the files of `{argument}` come in another order, or more or less often, "
            f"than when the run of {training} began"
        )
    # Files of several folders may have one name.
    for name, size, found in zip(names, sizes, found_sizes, strict=True):
        if size != found:
            raise ValueError(
                f"{name}: this file of `{argument}` had {size:,} bytes when the run of "
                f"{training} began, and has {found:,}"
            )


def _shards(argument: str, training: str, value: Any) -> list[tuple[str, int]]:
    """The files' names and sizes, as a recipe has them."""
    try:
        shards = [(str(name), int(size)) for name, size in value]
    except (TypeError, ValueError):
        shards = []
    if not shards:
        raise ValueError(
            f"{training}: {argument} must be pairs of a file's name and its size"
        )
    return shards


def prepare_run_directory(
    files: PretrainingDirectory,
    lock: DirectoryLock,
    config: ElmoConfig,
    manifest: dict[str, Any],
    make_vocabulary: Callable[[], Vocabulary | None],
    resume: bool,
    log: Callable[[str], None],
) -> None:
    """Writes the recipe and the vocabulary, or checks those of a run to go on with.

    Nothing is written before the words are counted, so there is nothing to lose then.

    Args:
        files: of the run.
        lock: of its directory; taken before anything of another process is touched.
        config: the sizes.
        manifest: what has to be the same when the run goes on.
        make_vocabulary: returns the words to predict; `None` if there is no text.
        resume: whether the directory may hold the run already.
        log: told what a person should know.

    Raises:
        ValueError: the directory holds something else, or another run; or another
            process trains there.
    """
    lock.acquire()
    _check_directory(files, resume)
    check_manifest(files, config, manifest)
    if resume and not files.holds_a_run():
        # The same command then serves a machine that may be taken away at any time.
        log(f"{files.path} holds no run to go on with: one begins")
    exists = os.path.exists(files.vocabulary)
    vocabulary = None if exists else make_vocabulary()
    os.makedirs(files.path, exist_ok=True)
    lock.acquire()
    # While the words were counted, the same command may have begun in a new directory.
    _check_directory(files, resume)
    check_manifest(files, config, manifest)
    files.write_manifest(config, manifest)
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
