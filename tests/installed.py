"""Packages that a test needs and the library does not."""

import importlib.util
import os
import warnings

import pytest

REQUIRED = os.environ.get("KERAS_ELMO_REQUIRE_BACKENDS") == "1"


def require_installed(package):
    """Skips the test or module where the package is absent, or fails if required."""
    if importlib.util.find_spec(package) is None:
        absent = f"{package} is not installed"
        if REQUIRED:
            pytest.fail(absent)
        pytest.skip(absent, allow_module_level=True)


def import_installed(module):
    """Returns a module of a package that `require_installed` requires."""
    require_installed(module.partition(".")[0])
    with warnings.catch_warnings(action="ignore"):
        return importlib.import_module(module)
