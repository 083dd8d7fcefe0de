"""Whether TensorFlow's XLA compiles the graph that is traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_COMPILED = ContextVar("is_compiled", default=False)


@contextmanager
def compiled_by_xla() -> Iterator[None]:
    """Tells layers that what they trace is compiled: for the shapes that it has.

    TensorFlow tells them only in an error, when a layer used an operation of which the
    result may have any size.
    """
    token = _IS_COMPILED.set(True)
    try:
        yield
    finally:
        _IS_COMPILED.reset(token)


def is_compiled() -> bool:
    """Whether a layer is called inside of `compiled_by_xla`."""
    return _IS_COMPILED.get()
