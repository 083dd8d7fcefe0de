"""Which version of a model is served: the newest, once it is loaded."""

import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path

from keras_elmo.files.saved_model import is_saved_model
from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.model import Model

# Of each file: its path, its size, and when it and its rights were written.
Contents = tuple[tuple[str, int, int, int], ...]


class Versions:
    """Loads the newest version of a model, and each newer one that appears.

    A version is loaded and warmed up before it takes the place of the one before,
    which finishes what it has begun. One that cannot be loaded changes nothing; it is
    tried again when its files change.

    Args:
        folder: an exported model, which is version 1, or a folder of such in folders
            whose names are numbers.
        name: the model's name.
        tell: called with a sentence whenever something has changed.

    Attributes:
        model: the version that is served.

    Raises:
        ValueError: there is no version, or the newest cannot be loaded.
    """

    def __init__(
        self, folder: str | os.PathLike[str], name: str, tell: Callable[[str], None]
    ) -> None:
        self.name = name
        self._folder = Path(folder)
        self._tell = tell
        self._failed: dict[int, Contents] = {}
        # Read by requests while `refresh` writes.
        self._lock = threading.Lock()
        self._states: dict[int, dict[str, str]] = {}
        found = self._newest()
        if found is None:
            raise ValueError(
                "`model` must be an exported model, or a folder of such whose names "
                f"are numbers. Received: model={os.fspath(folder)!r}"
            )
        self.model = self._load(*found)
        self._set(self.model.version, "AVAILABLE")

    def refresh(self) -> None:
        """Looks for another version than the one that is served, and switches to it.

        It takes as long as loading does; call it from one thread at a time.
        """
        found = self._newest()
        if found is None or found[0] == self.model.version:
            return
        version, path = found
        contents = _contents(path)
        if self._failed.get(version) == contents:
            return
        try:
            model = self._load(version, path)
        except (ValueError, ImportError, OSError) as error:
            self._failed[version] = contents
            self._tell(f"version {version} is not served: {error}")
            return
        before, self.model = self.model, model
        self._set(version, "AVAILABLE")
        self._tell(f"version {version} is served instead of {before.version}")
        self._set(before.version, "UNLOADING")
        before.wait_until_unused()
        self._set(before.version, "END")
        del before
        # TensorFlow's objects are in cycles, and hold the weights.
        gc.collect()

    def find(self, name: str, version: int | None = None) -> Model:
        """Returns the model that a client names.

        Raises:
            ServingError: it is not served.
        """
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
        """Returns what became of the versions, as TensorFlow Serving tells it.

        Raises:
            ServingError: nothing is known of them.
        """
        with self._lock:
            states = dict(self._states) if name == self.name else {}
        if version is not None:
            states = {k: state for k, state in states.items() if k == version}
        if not states:
            what = "any versions" if version is None else f"version {version}"
            raise ServingError(Code.NOT_FOUND, f"Could not find {what} of model {name}")
        return [
            {
                "version": str(version),
                "state": state["state"],
                "status": {
                    "error_code": state["error_code"],
                    "error_message": state["error_message"],
                },
            }
            for version, state in sorted(states.items(), reverse=True)
        ]

    def _newest(self) -> tuple[int, Path] | None:
        if is_saved_model(self._folder):
            return 1, self._folder
        try:
            names = [path.name for path in self._folder.iterdir() if path.is_dir()]
        except OSError:
            return None
        numbers = {
            int(name): name for name in names if name.isascii() and name.isdigit()
        }
        if not numbers:
            return None
        newest = max(numbers)
        return newest, self._folder / numbers[newest]

    def _load(self, version: int, path: Path) -> Model:
        self._set(version, "LOADING")
        try:
            return Model(path, version)
        except (ValueError, ImportError, OSError) as error:
            self._set(version, "END", "INVALID_ARGUMENT", str(error))
            raise

    def _set(
        self, version: int, state: str, error_code: str = "OK", error_message: str = ""
    ) -> None:
        with self._lock:
            self._states[version] = {
                "state": state,
                "error_code": error_code,
                "error_message": error_message,
            }


def _contents(folder: Path) -> Contents:
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            state = path.stat()
        except OSError:
            # It went away meanwhile, and will have changed.
            continue
        # The last changes with the right to read it, too.
        found.append((str(path), state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    return tuple(found)
