"""Packages that a test needs and the library does not."""

import importlib.util
import os

import pytest


def require_installed(package):
    """Skips the test where the package is absent; fails it where all are required."""
    if importlib.util.find_spec(package) is None:
        absent = f"{package} is not installed"
        if os.environ.get("KERAS_ELMO_REQUIRE_BACKENDS") == "1":
            pytest.fail(absent)
        pytest.skip(absent)
