"""Temporary files that leave nothing behind, however the process ends."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from keras_elmo.utils.files import NO_ROOM
from keras_elmo.utils.types import StrPath

# Linux lists the open files of a process here, also files without a name.
_OPEN_FILES = "/proc/self/fd"


@contextlib.contextmanager
def kept(stream: BinaryIO) -> Iterator[str]:
    """Yields a path at which the content of a stream can be read repeatedly.

    Outside Linux, a process that is killed leaves a folder behind.
    """
    with contextlib.ExitStack() as stack:
        if os.path.isdir(_OPEN_FILES):
            file: BinaryIO = stack.enter_context(tempfile.TemporaryFile())
            path = f"{_OPEN_FILES}/{file.fileno()}"
        else:
            made = tempfile.TemporaryDirectory(prefix="keras-elmo-")
            path = os.path.join(stack.enter_context(made), "stream")
            file = stack.enter_context(open(path, "wb"))
        with naming_folder():
            shutil.copyfileobj(stream, file)
            file.flush()
        yield path


@contextlib.contextmanager
def naming_folder(folder: StrPath | None = None) -> Iterator[None]:
    """Makes errors of a full disk name the folder of a temporary file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in NO_ROOM:
            raise
        problem = f"a temporary file cannot be written: {os.strerror(error.errno)}"
        folder = os.fspath(folder or tempfile.gettempdir())
        raise OSError(error.errno, problem, folder) from error
