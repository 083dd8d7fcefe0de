"""Imports TensorFlow without its start-up notes; import this before Keras.

They come from C++ code that writes to the process's standard error before any log
level is read, so nothing but turning that off for a moment silences them. Exceptions
are shown as ever.
"""

import contextlib
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

_standard_error = os.dup(2)
_nothing = os.open(os.devnull, os.O_WRONLY)
os.dup2(_nothing, 2)
try:
    # Windows has no tensorflow_text.
    with contextlib.suppress(ImportError):
        import tensorflow  # noqa: F401
        import tensorflow_text  # noqa: F401
finally:
    os.dup2(_standard_error, 2)
    os.close(_standard_error)
    os.close(_nothing)
