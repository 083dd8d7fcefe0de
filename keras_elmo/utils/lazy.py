"""Imports of modules that may be missing or that take seconds.

`tf` and `tf_text` stand for TensorFlow and tensorflow-text. Import the names
freely; the modules themselves are imported when an attribute is first read. The
layers and models run on the backend that Keras uses, so TensorFlow is needed only for
text, for SavedModels and for its own backend.
"""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = [
    "do_not_convert",
    "import_extra",
    "provide",
    "provided",
    "register_lazily",
    "tf",
    "tf_text",
]


class _LazyModule(ModuleType):
    """A module that is imported when one of its attributes is read."""

    def __init__(self, name: str, requirement: str) -> None:
        super().__init__(name)
        self._requirement = requirement

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__version__":
            # Of those that look at any object: copy, inspect, pickle.
            raise AttributeError(name)
        try:
            module = importlib.import_module(self.__name__)
        except ImportError as error:
            # Whoever reads the attribute is who needs the module.
            caller = sys._getframe(1)
            user = f"{caller.f_globals['__name__']}.{caller.f_code.co_qualname}"
            raise _missing(self.__name__, user, self._requirement, error) from error
        return getattr(module, name)


if TYPE_CHECKING:
    import tensorflow as tf
    import tensorflow_text as tf_text
else:
    tf = _LazyModule("tensorflow", "tensorflow~=2.21.0")
    tf_text = _LazyModule("tensorflow_text", "tensorflow-text~=2.21.1")


def import_extra(module: str, user: str, extra: str) -> ModuleType:
    """Returns a module that one of keras_elmo's extras installs.

    Args:
        module: its name, such as `"pyarrow.parquet"`.
        user: what needs it, as the subject of a sentence ("Writing Parquet").
        extra: the extra that installs it.

    Raises:
        ImportError: the extra is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _missing(module, user, f"keras-elmo[{extra}]", error) from error


def _missing(module: str, user: str, requirement: str, error: Exception) -> ImportError:
    package = module.partition(".")[0]
    return ImportError(
        f"{user} needs {package}, which cannot be imported ({error}). "
        f"Install it with: pip install '{requirement}'"
    )


_T = TypeVar("_T")


def do_not_convert(function: _T) -> _T:
    """Keeps AutoGraph from converting a function, or the objects of a class.

    `tf.autograph.experimental.do_not_convert` sets the same attribute, but needs
    TensorFlow at once.
    """
    function.autograph_info__ = None  # type: ignore[attr-defined]
    return function


_providers: dict[str, str] = {}


def provide(function: str, module: str) -> None:
    """Makes a function available to lower floors, which must not import its module."""
    _providers[function] = module


def provided(function: str) -> Callable[..., Any]:
    """Imports a function that `provide` named."""
    return getattr(importlib.import_module(_providers[function]), function)


def register_lazily(classes: Mapping[str, str]) -> None:
    """Registers serializable classes with Keras without importing them, or Keras.

    Keras finds a class of a saved model by its registered name alone. Until the module
    of the class is imported, a stand-in that imports it has that name.

    Args:
        classes: the module of each class, by the name of the class. They are
            registered as of the package "keras_elmo".
    """

    def register() -> None:
        from keras.saving import get_custom_objects

        for name, module in classes.items():
            stand_in = _LazyClass(name, module)
            get_custom_objects().setdefault(f"keras_elmo>{name}", stand_in)

    if "keras" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _AfterImport("keras", register))


class _LazyClass:
    """Stands in for a registered class in what Keras asks of it."""

    def __init__(self, name: str, module: str) -> None:
        self._name, self._module = name, module

    def from_config(self, config: dict[str, object]) -> object:
        found = getattr(importlib.import_module(self._module), self._name)
        return found.from_config(config)


class _AfterImport(MetaPathFinder):
    """Calls a function when a module has been imported."""

    def __init__(self, module: str, call: Callable[[], None]) -> None:
        self._module, self._call = module, call

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if name != self._module:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next(filter(None, specs), None)
        if spec is not None and spec.loader is not None:
            self._call_after(spec.loader)
        return spec

    def _call_after(self, loader: Loader) -> None:
        execute = loader.exec_module

        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            if module.__name__ == self._module:
                self._call()

        loader.exec_module = execute_and_call  # type: ignore[method-assign]
