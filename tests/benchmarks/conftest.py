"""The benchmarks are scripts; their tests import them from their folder."""

import importlib
import sys
from pathlib import Path

import pytest

from tests.helpers.fresh_process import forked_python

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    """Imports a script by its name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(autouse=True)
def forked_processes(request, monkeypatch):
    """The processes of a whole benchmark have imported TensorFlow already."""
    if request.node.get_closest_marker("whole"):
        monkeypatch.setattr(sys, "executable", str(forked_python()))
