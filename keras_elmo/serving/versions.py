"""Finds and loads the newest version of a model."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from keras_elmo.files.exported_sources import (
    ExportedModel,
    KerasFile,
    LiteRtFile,
    OnnxFile,
)
from keras_elmo.files.finding import needs_no_keras
from keras_elmo.files.loading import find_kind
from keras_elmo.serving.limits import Code, ServingError
from keras_elmo.serving.signatures import ServedModel
from keras_elmo.utils.checks import refuse
from keras_elmo.utils.memory import freeze_garbage

# The kinds of models that are served.
SERVED = (ExportedModel, OnnxFile, LiteRtFile, KerasFile)
# A version has 63 bits in requests and answers.
_LAST = 2**63 - 1
# Path, size, and times of the last change of content and permissions of each file.
FileStates = list[tuple[str, int, int, int]]
Errors = dict[int, Exception]


def load_version(path: Path, version: int) -> ServedModel:
    """Loads a version of a model."""
    if needs_no_keras(path) and path.is_file():
        from keras_elmo.serving.graph_model import GraphModel

        return GraphModel(path, version)
    from keras_elmo.serving.model import Model

    if not KerasFile.matches(os.fspath(path)):
        return Model(path, version)
    # Registers the classes.
    import keras_elmo.downstream  # noqa: F401

    source = KerasFile(path)
    # Raises unless it is a tagger or a classifier.
    source.describe()
    model = source.loaded()
    with tempfile.TemporaryDirectory() as folder:
        model.export(exported := os.path.join(folder, "model"))
        return Model(exported, version)


def numbered_folders(folder: Path) -> list[Path]:
    """Returns the folders in a folder that have numbers as names."""
    try:
        folders = [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return []
    return [path for path in folders if path.name.isascii() and path.name.isdigit()]


class ModelManager:
    """Serves the newest version that loads, and newer versions as they appear.

    A version is loaded and warmed up before it replaces the former one, which finishes
    its requests. A version that does not load is skipped until its files change. A
    model without versions is version 1. `log` gets a sentence about each change.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        name: str,
        log: Callable[[str], None],
    ) -> None:
        self.name = name
        self._folder = Path(folder)
        self._log = log
        self._failed: dict[Path, FileStates] = {}
        # Replaced as a whole, because requests read it while `refresh` writes.
        self._states: dict[int, dict[str, object]] = {}
        model, errors = self._load_newest()
        if model is not None:
            self.model = model
        elif errors:
            raise next(iter(errors.values()))
        else:
            rule = "an exported model, or a folder of them under numbers"
            refuse("model", rule, os.fspath(folder))
        self._log_errors(errors)

    def refresh(self) -> None:
        """Switches to the newest version that loads. Only one thread may call it."""
        model, errors = self._load_newest(self.model.version)
        self._log_errors(errors)
        if model is None:
            return
        before, self.model = self.model, model
        self._log(f"version {model.version} is served instead of {before.version}")
        self._set_state(before.version, "UNLOADING")
        before.wait_until_unused()
        self._set_state(before.version, "END")
        del before
        # TensorFlow's objects hold the weights and form cycles.
        freeze_garbage()

    def find(self, name: str, version: int | None = None) -> ServedModel:
        """Returns the model that a request names, or raises a `ServingError`."""
        model = self.model
        if name != self.name or version not in (None, model.version):
            which = "Latest" if version is None else f"Specific, {version}"
            raise ServingError(
                Code.NOT_FOUND,
                f"Servable not found for request: {which}({name}); "
                f"there is {self.name}, version {model.version}",
            )
        return model

    def status(self, name: str, version: int | None = None) -> list[dict[str, object]]:
        """Returns the states of versions, newest first, as TensorFlow Serving does."""
        named = [
            state
            for number, state in sorted(self._states.items(), reverse=True)
            if name == self.name and version in (None, number)
        ]
        if not named:
            what = "any versions" if version is None else f"version {version}"
            raise ServingError(Code.NOT_FOUND, f"Could not find {what} of model {name}")
        return named

    def _load_newest(self, served: int = -1) -> tuple[ServedModel | None, Errors]:
        """Returns the newest version that loads, if it is new, and new errors."""
        errors: Errors = {}
        for version, path in self._versions():
            if version == served:
                break
            files = _file_states(path)
            if self._failed.get(path) == files:
                continue
            try:
                return self._open(version, path), errors
            except Exception as error:
                # Any error: otherwise the version would be tried again every second.
                self._failed[path] = files
                errors[version] = error
        return None, errors

    def _open(self, version: int, path: Path) -> ServedModel:
        if version > _LAST:
            # The status does not list it, because no client could read the number.
            raise ValueError(
                f"{path}: the number of a version must be at most {_LAST:,}"
            )
        self._set_state(version, "LOADING")
        try:
            model = load_version(path, version)
        except Exception as error:
            self._set_state(version, "END", "INVALID_ARGUMENT", _told(error))
            raise
        self._set_state(version, "AVAILABLE")
        return model

    def _versions(self) -> list[tuple[int, Path]]:
        """Returns the versions in the folder, newest first."""
        if find_kind(self._folder, SERVED):
            return [(1, self._folder)]
        numbered = numbered_folders(self._folder)
        return sorted(((int(path.name), path) for path in numbered), reverse=True)

    def _set_state(
        self, version: int, state: str, code: str = "OK", message: str = ""
    ) -> None:
        status = {"error_code": code, "error_message": message}
        told: dict[str, object] = {
            "version": str(version),
            "state": state,
            "status": status,
        }
        self._states = {**self._states, version: told}

    def _log_errors(self, errors: Errors) -> None:
        for version, error in errors.items():
            self._log(f"version {version} is not served: {_told(error)}")


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__


def _file_states(folder: Path) -> FileStates:
    states = []
    for path in (folder, *sorted(folder.rglob("*"))):
        # A file that has just been removed counts as a change the next time.
        with contextlib.suppress(OSError):
            stat = path.stat()
            states.append((str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    return states
