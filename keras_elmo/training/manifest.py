"""The manifest of a run, and its directory: begun once, by one process, and resumed."""

import dataclasses
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from keras_elmo.config import ElmoConfig
from keras_elmo.files.finding import checkpoint_steps
from keras_elmo.files.run_directory import IMPORTED, PretrainingDirectory
from keras_elmo.files.sources import name_of
from keras_elmo.text.line_sources import json_path
from keras_elmo.text.vocabulary import Vocabulary, counts_file
from keras_elmo.training.keras_configs import to_config
from keras_elmo.training.training_data import CHOSEN, Manifest
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.files import check_parent, is_leftover, remove_leftovers
from keras_elmo.utils.locks import held
from keras_elmo.utils.options import options_of

# The options that end a run. A resumed one may end otherwise.
ENDS = ("steps", "epochs", "minutes", "patience")


def fixed_options(options: TrainingOptions) -> Manifest:
    """Returns the options that a resumed run must not change."""
    fixed = {
        name: getattr(options, name)
        for name, declared in options_of(options).items()
        if declared.fixed
    }
    if options.init is not None:
        fixed["init"] = json_path(name_of(options.init))
    if not isinstance(options.optimizer, str):
        fixed["optimizer"] = to_config(options.optimizer)
    if options.num_sampled is None:
        # Chosen when the words are known.
        del fixed["num_sampled"]
    return fixed


def check_manifest(
    files: PretrainingDirectory, config: ElmoConfig, manifest: Manifest
) -> None:
    """Compares the sizes and arguments with those the run of a directory began with."""
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
        if was == value or (was is None and IMPORTED in before):
            # Another program does not write down everything.
            continue
        if name in ("corpus", "validation"):
            _check_files(name, files.training, was, value)
        elif name == "kind_of_corpus":
            raise ValueError(
                f"`corpus` must be {was}, as when the run began: {files.training}. "
                f"Received: {value}"
            )
        else:
            refuse(name, f"{was!r}, as in {files.training}", value)


def _check_files(argument: str, training: str, before: Any, now: Any) -> None:
    """Compares pairs of a file's name and its size, and their order."""
    files, run = called(argument), f"the run of {training}"
    if before is None or now is None:
        must, how = ("not be", "without") if before is None else ("be", "with")
        raise ValueError(f"{files} must {must} given: {run} began {how} it")
    try:
        before = [(str(name), int(size)) for name, size in before]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{training}: {argument} must be pairs of a file's name and its size"
        ) from error
    names, names_now = ([name for name, _ in pairs] for pairs in (before, now))
    if gone := sorted(set(names) - set(names_now)):
        raise ValueError(
            f"{gone[0]}: this file of {files}, with which {run} began, is not there"
        )
    if new := sorted(set(names_now) - set(names)):
        raise ValueError(
            f"{new[0]}: this file was not part of {files} when {run} began; a new run "
            "can start from its weights"
        )
    if names != names_now:
        raise ValueError(
            f"the files of {files} come in another order, or more or less often, than "
            f"when {run} began"
        )
    # Files of several folders may have one name.
    for (name, size), (_, size_now) in zip(before, now, strict=True):
        if size != size_now:
            raise ValueError(
                f"{name}: this file of {files} had {size:,} bytes when {run} began, "
                f"and has {size_now:,}"
            )


def prepare_run_directory(
    files: PretrainingDirectory,
    until_end: ExitStack,
    config: ElmoConfig,
    manifest: Manifest,
    options: TrainingOptions,
    count_words: Callable[[], tuple[Vocabulary | None, Manifest]],
    log: Callable[[str], None],
) -> None:
    """Writes the manifest and the vocabulary, or checks those of the run to resume.

    Nothing is written before the words are counted, so nothing can be lost until then.
    Other processes are kept out of the directory, as soon as it exists, `until_end`.
    `count_words` returns the vocabulary, and the entries `CHOSEN` of a new run.
    """
    used = f"{called('directory')} must not be in use: another process trains in "
    locked = partial(held, files.path, f"{used}{files.path}")
    is_new_folder = not os.path.isdir(files.path)
    if not is_new_folder:
        until_end.enter_context(locked())
    _check_directory(files, config, manifest, options.resume)
    if options.resume and not files.holds_a_run():
        # The same command then serves a machine that may be taken away at any time.
        log(f"{files.path} holds no run to resume: a new one begins")
    check_parent(files.training)
    vocabulary: Vocabulary | None = None
    chosen: Manifest = {}
    if not os.path.exists(files.vocabulary):
        vocabulary, chosen = count_words()
    if is_new_folder:
        # While the words were counted, the same command may have begun here.
        is_new_folder = not os.path.exists(files.path)
        os.makedirs(files.path, exist_ok=True)
        until_end.enter_context(locked())
        _check_directory(files, config, manifest, options.resume)
    if files.holds_a_run():
        chosen = {name: files.read_manifest().get(name) for name in CHOSEN}
    else:
        until_end.push(partial(_remove_failed, files, is_new_folder))
    ends = {name: getattr(options, name) for name in ENDS}
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


def _check_directory(
    files: PretrainingDirectory, config: ElmoConfig, manifest: Manifest, resume: bool
) -> None:
    if files.holds_a_run():
        if not resume:
            raise ValueError(
                f"{called('directory')} must not hold a run yet, unless "
                f"{called('resume')} is set: {files.path}"
            )
        check_manifest(files, config, manifest)
        return
    names = os.listdir(files.path) if os.path.exists(files.path) else []
    if not all(map(is_leftover, names)):
        raise ValueError(
            f"{called('directory')} must be empty, or not exist, or hold a run: "
            f"{files.path} holds something else"
        )
