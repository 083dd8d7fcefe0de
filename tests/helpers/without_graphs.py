"""TensorFlow's functions, called as they are written."""

import contextlib
import warnings

import pytest


@contextlib.contextmanager
def without_graphs():
    """Makes no graphs: for a few steps, they take longer than to compute without."""
    with warnings.catch_warnings(), _run_eagerly(True):
        # Those of tf.data stay.
        warnings.filterwarnings("ignore", "Even though the `tf.config.experimental")
        yield


def with_graphs():
    """Makes graphs, inside of `without_graphs`."""
    return _run_eagerly(False)


@contextlib.contextmanager
def _run_eagerly(eagerly):
    tf = pytest.importorskip("tensorflow")
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(eagerly)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)
