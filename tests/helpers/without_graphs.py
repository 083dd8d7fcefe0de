"""TensorFlow's functions, called as they are written."""

import contextlib
import warnings

import pytest


@contextlib.contextmanager
def without_graphs():
    """Makes no graphs: for a few steps, they take longer than to compute without."""
    tf = pytest.importorskip("tensorflow")
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        with warnings.catch_warnings():
            # Those of tf.data stay.
            warnings.filterwarnings("ignore", "Even though the `tf.config.experimental")
            yield
    finally:
        tf.config.run_functions_eagerly(before)
