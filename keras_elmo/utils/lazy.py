"""Imports that may be missing, each with the sentence its user needs to read.

The layers and models run on whichever backend Keras uses, so TensorFlow itself
is needed only for text, files of TensorFlow's own format, and its backend.
"""

import importlib
from types import ModuleType
from typing import Any


def import_tensorflow(purpose: str) -> Any:
    """Returns the module `tensorflow`, or says what needs it.

    Args:
        purpose: what is about to happen, as the subject of a sentence
            ("Reading raw text").

    Raises:
        ImportError: TensorFlow is not installed.
    """
    return _import("tensorflow", purpose, "pip install 'tensorflow~=2.21.0'")


def import_tensorflow_text(purpose: str) -> Any:
    """Returns the module `tensorflow_text`, which also registers its ops.

    Raises:
        ImportError: tensorflow-text is not installed.
    """
    return _import("tensorflow_text", purpose, "pip install 'tensorflow-text~=2.21.1'")


def import_extra(module: str, purpose: str, extra: str) -> Any:
    """Returns a module that one of keras_elmo's extras installs.

    Raises:
        ImportError: the extra is not installed.
    """
    return _import(module, purpose, f"pip install 'keras-elmo[{extra}]'")


def _import(module: str, purpose: str, remedy: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}, which cannot be imported ({error}). "
            f"Install it with: {remedy}"
        ) from error
