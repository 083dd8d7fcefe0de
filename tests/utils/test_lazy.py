import re
import shlex
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from keras_elmo.utils.lazy import import_extra
from tests.helpers.fresh_process import ROOT

with open(ROOT / "pyproject.toml", "rb") as file:
    EXTRAS = tomllib.load(file)["project"]["optional-dependencies"]


def packages(extra):
    for package in EXTRAS[extra]:
        others = re.fullmatch(r"keras-elmo\[(.*)\]", package)
        names = others[1].split(",") if others else ()
        yield from [package] if not others else [p for n in names for p in packages(n)]


def parsed(package):
    requirement = Requirement(package)
    return canonicalize_name(requirement.name), requirement.specifier


@pytest.mark.parametrize("extra", ["beam", "explore", "hub", "onnx", "serve", "torch"])
def test_missing_extra_names_its_packages(extra):
    """No command names this package: an index may hold another one of its name."""
    with pytest.raises(ImportError, match="^The test needs nowhere, which") as raised:
        import_extra("nowhere.module", "The test", extra)
    _, command = str(raised.value).split("pip install ")
    assert set(map(parsed, shlex.split(command))) == set(map(parsed, packages(extra)))
