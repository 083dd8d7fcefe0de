"""TensorFlow's functions, called as they are written."""

import contextlib
import warnings
from unittest import mock

import pytest


@contextlib.contextmanager
def without_graphs():
    """Makes no graphs: for a few steps, they take longer than to compute without."""
    from keras_elmo.utils.one_graph import BatchGraph

    def call(self, *batch, **options):
        return self._function(*batch, **options)

    called = mock.patch.object(BatchGraph, "__call__", call)
    with warnings.catch_warnings(), _run_eagerly(True), called:
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
