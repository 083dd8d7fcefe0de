"""The directory of a run: begun once, by one process, and resumed with its manifest."""

import dataclasses
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial

from keras_elmo.config import ElmoConfig
from keras_elmo.files.finding import checkpoint_steps
from keras_elmo.files.run_directory import IMPORTED, PretrainingDirectory
from keras_elmo.text.vocabulary import Vocabulary, counts_file
from keras_elmo.training.training_data import CHOSEN, Manifest
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.files import check_parent, is_leftover, remove_leftovers
from keras_elmo.utils.locks import held
from keras_elmo.utils.types import Config

# The options that end a run. A resumed one may end otherwise.
ENDS = ("steps", "epochs", "minutes", "patience")


def check_manifest(
    files: PretrainingDirectory, config: ElmoConfig, manifest: Manifest
) -> None:
    """Compares the sizes and arguments with those the run of a directory began with."""
    if not files.holds_a_run():
        return
    before = files.read_manifest()
    if os.path.exists(files.options):
        begun = ElmoConfig.from_options(files.options)
        for field in dataclasses.fields(config):
            was, now = (getattr(sizes, field.name) for sizes in (begun, config))
            if now != was:
                raise ValueError(
                    f"{called('config')} must be that of the run, {files.options}, "
                    f"where `{field.name}` is {was!r}. Received: {field.name}={now!r}"
                )
    for name, value in manifest.items():
        was = before.get(name)
        if was is None and IMPORTED in before:
            # Whatever the other program did not write down.
            continue
        if name in ("corpus", "validation"):
            _check_files(name, files.training, was, value)
        elif was != value and name == "kind_of_corpus":
            raise ValueError(
                f"`corpus` must be {was}, as when the run began: {files.training}. "
                f"Received: {value}"
            )
        elif was != value:
            refuse(name, f"{was!r}, as in {files.training}", value)


def _check_files(argument: str, training: str, before: object, now: object) -> None:
    """Compares pairs of a file's name and its size, and their order."""
    if before == now:
        return
    if before is None or now is None:
        must, how = ("not be", "without") if before is None else ("be", "with")
        raise ValueError(
            f"{called(argument)} must {must} given: the run of {training} began {how} "
            "it"
        )
    names, sizes = _columns(argument, training, before)
    names_now, sizes_now = _columns(argument, training, now)
    if gone := sorted(set(names) - set(names_now)):
        raise ValueError(
            f"{gone[0]}: this file of {called(argument)}, with which the run of "
            f"{training} began, is not there"
        )
    if new := sorted(set(names_now) - set(names)):
        raise ValueError(
            f"{new[0]}: this file was not part of {called(argument)} when the run of "
            f"{training} began; a new run can start from its weights"
        )
    if names != names_now:
        raise ValueError(
            f"the files of {called(argument)} come in another order, or more or less "
            f"often, than when the run of {training} began"
        )
    # Files of several folders may have one name.
    for name, before_size, size in zip(names, sizes, sizes_now, strict=True):
        if before_size != size:
            raise ValueError(
                f"{name}: this file of {called(argument)} had {before_size:,} bytes "
                f"when the run of {training} began, and has {size:,}"
            )


def _columns(
    argument: str, training: str, pairs: object
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Returns the names and the sizes that a manifest has."""
    try:
        names, sizes = zip(
            *((str(name), int(size)) for name, size in pairs),  # type: ignore
            strict=True,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{training}: {argument} must be pairs of a file's name and its size"
        ) from error
    return names, sizes


def prepare_run_directory(
    files: PretrainingDirectory,
    until_end: ExitStack,
    config: ElmoConfig,
    manifest: Manifest,
    ends: Config,
    make_vocabulary: Callable[[], Vocabulary | None],
    choose: Callable[[Vocabulary | None], Config],
    resume: bool,
    log: Callable[[str], None],
) -> None:
    """Writes the manifest and the vocabulary, or checks those of the run to resume.

    Nothing is written before the words are counted, so nothing can be lost until then.
    Other processes are kept out of the directory, as soon as it exists, `until_end`.
    `choose` returns the entries `CHOSEN` of a new run, which depend on its words.
    `ends` may differ from those of the run to resume, and replace them.
    """
    used = f"{called('directory')} must not be in use: another process trains in "
    locked = partial(held, files.path, f"{used}{files.path}")
    is_locked = os.path.isdir(files.path)
    if is_locked:
        until_end.enter_context(locked())
    _check_directory(files, resume)
    check_manifest(files, config, manifest)
    if resume and not files.holds_a_run():
        # The same command then serves a machine that may be taken away at any time.
        log(f"{files.path} holds no run to resume: a new one begins")
    check_parent(files.training)
    vocabulary = None if os.path.exists(files.vocabulary) else make_vocabulary()
    if files.holds_a_run():
        chosen = {name: files.read_manifest().get(name) for name in CHOSEN}
    else:
        chosen = choose(vocabulary)
    is_new_folder = not os.path.exists(files.path)
    os.makedirs(files.path, exist_ok=True)
    if not is_locked:
        until_end.enter_context(locked())
    # While the words were counted, the same command may have begun in a new directory.
    _check_directory(files, resume)
    check_manifest(files, config, manifest)
    if not files.holds_a_run():
        until_end.push(partial(_remove_failed, files, is_new_folder))
    files.write_manifest(config, {**chosen, **ends, **manifest})
    if vocabulary is not None:
        vocabulary.save(files.vocabulary)
    for folder in (files.path, files.checkpoints):
        remove_leftovers(folder)


def _remove_failed(
    files: PretrainingDirectory,
    with_folder: bool,
    error: type[BaseException] | None,
    *_: object,
) -> None:
    """Removes a run if an error ends it before there is a checkpoint of a step.

    Ctrl-C and SIGTERM are no errors.
    """
    if error is None or not issubclass(error, Exception):
        return
    if any(checkpoint_steps(files.checkpoints)):
        return
    for path in (*vars(files).values(), counts_file(files.vocabulary)):
        if path == files.path:
            continue
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)
    if with_folder:
        with suppress(OSError):
            os.rmdir(files.path)


def _check_directory(files: PretrainingDirectory, resume: bool) -> None:
    if files.holds_a_run():
        if not resume:
            raise ValueError(
                f"{called('directory')} must not hold a run yet, unless "
                f"{called('resume')} is set: {files.path}"
            )
        return
    names = os.listdir(files.path) if os.path.exists(files.path) else []
    if not all(map(is_leftover, names)):
        raise ValueError(
            f"{called('directory')} must be empty, or not exist, or hold a run: "
            f"{files.path} holds something else"
        )
