"""What a test needs and the library does not: packages, programs, data."""

import importlib.util
import os
import warnings

import pytest

REQUIRED = os.environ.get("KERAS_ELMO_REQUIRE_BACKENDS") == "1"


def skip_without(absent, what):
    """Skips the test or module, or fails where `KERAS_ELMO_REQUIRE_{what}` is 1."""
    if os.environ.get(f"KERAS_ELMO_REQUIRE_{what}") == "1":
        pytest.fail(absent)
    pytest.skip(absent, allow_module_level=True)


def require_installed(package):
    """Skips the test or module where the package is absent, or fails if required."""
    if importlib.util.find_spec(package) is None:
        skip_without(f"{package} is not installed", "BACKENDS")


def import_installed(module):
    """Returns a module of a package that `require_installed` requires."""
    require_installed(module.partition(".")[0])
    with warnings.catch_warnings(action="ignore"):
        return importlib.import_module(module)
