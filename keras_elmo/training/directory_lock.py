"""One process at a time in a run's directory."""

import os

from keras_elmo.locks import lock


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
