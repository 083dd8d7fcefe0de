"""Imports modules that may be missing or that take seconds.

`tf` and `tf_text` stand for TensorFlow and tensorflow-text. Import the names freely:
the modules themselves are imported when an attribute is first read. Layers and models
run on Keras's backend, so TensorFlow is needed only for text, for SavedModels and as
the backend.
"""

import importlib
import importlib.util
import re
import shlex
import sys
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

__all__ = ["do_not_convert", "has_tensorflow", "import_extra", "tf", "tf_text"]


class _LazyModule(ModuleType):
    """A module that is imported when one of its attributes is read."""

    def __init__(self, name: str, requirement: str) -> None:
        super().__init__(name)
        self._requirement = requirement

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__version__":
            # copy, inspect and pickle look at any object.
            raise AttributeError(name)
        try:
            module = importlib.import_module(self.__name__)
        except ImportError as error:
            # The code that reads the attribute needs the module.
            caller = sys._getframe(1)
            user = f"{caller.f_globals['__name__']}.{caller.f_code.co_qualname}"
            raise _missing(self.__name__, user, [self._requirement], error) from error
        return getattr(module, name)


if TYPE_CHECKING:
    import tensorflow as tf
    import tensorflow_text as tf_text
else:
    tf = _LazyModule("tensorflow", "tensorflow~=2.21.0")
    tf_text = _LazyModule("tensorflow_text", "tensorflow-text~=2.21.1")


def has_tensorflow() -> bool:
    """Whether TensorFlow is installed; it is not imported."""
    try:
        return importlib.util.find_spec("tensorflow") is not None
    except ValueError:
        # Something else has its name.
        return False


def import_extra(module: str, user: str, extra: str) -> ModuleType:
    """Imports a module that may be missing, or raises a helpful `ImportError`.

    `user` is the subject of the message, such as "Writing Parquet". `extra` installs
    the module; `""` stands for the package's own requirements.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _missing(module, user, _requirements(extra), error) from error


def _requirements(extra: str) -> list[str]:
    """Returns the packages of an extra, because this package may not be on PyPI."""
    from importlib.metadata import requires

    packages: list[str] = []
    for line in requires("keras-elmo") or ():
        requirement, _, marker = line.partition(";")
        names = re.findall(r"extra == .(\w+)", marker) or [""]
        if names == [extra]:
            other = re.fullmatch(r"keras-elmo\[(.*)\]", requirement.strip())
            packages += _requirements(other[1]) if other else [requirement.strip()]
    return packages


def _missing(
    module: str, user: str, requirements: list[str], error: Exception
) -> ImportError:
    package = module.partition(".")[0]
    return ImportError(
        f"{user} needs {package}, which cannot be imported ({error}). "
        f"Install it with: pip install {shlex.join(requirements)}"
    )


_T = TypeVar("_T")


def do_not_convert(function: _T) -> _T:
    """Keeps AutoGraph from converting a function, or the objects of a class.

    `tf.autograph.experimental.do_not_convert` sets the same attribute, but imports
    TensorFlow.
    """
    function.autograph_info__ = None  # type: ignore[attr-defined]
    return function
