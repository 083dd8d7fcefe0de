"""Keeps TensorFlow's start-up notes out of the command line's output.

They come from C++ code that writes to standard error before it reads any log level,
and would stand above every error message. A program that imports the package as a
library keeps its standard error as it is.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator


def import_backend() -> None:
    """Imports Keras and its backend, silently where this process is the command."""
    # While `python -m keras_elmo` looks for the package, its name is not there yet.
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    if program.removesuffix(".exe") in ("keras-elmo", "-m"):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with _without_standard_error():
            importlib.import_module("keras")


@contextlib.contextmanager
def _without_standard_error() -> Iterator[None]:
    """Exceptions are shown as ever: they are printed when this is over."""
    sys.stderr.flush()
    standard_error = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(nothing)
