"""Every Keras backend agrees with the oracle, and needs no TensorFlow but its own."""

import importlib.metadata
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.backends import check_backend
from tests.helpers.fresh_process import ROOT, run
from tests.helpers.installed import require_installed


def make_environment(folder, names):
    """Returns the Python of a new environment, which has these packages alone.

    The packages are linked, so it takes a second. `names` are those of distributions,
    with extras if need be. TensorFlow is left out, which keras-elmo names.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    scheme = {"base": folder, "platbase": folder}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    for distribution in needed_distributions(names):
        for top in {file.parts[0] for file in distribution.files or ()}:
            path, link = Path(distribution.locate_file(top)), site / top
            is_ours = top not in ("..", "__pycache__") and not top.endswith(".pth")
            if is_ours and path.exists() and not link.exists():
                link.symlink_to(path)
    return folder / "bin" / "python"


def needed_distributions(names):
    """Returns the distributions of some requirements, and of what these require."""
    found, waiting = {}, [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        key = (requirement.name.lower().replace("_", "-"), *sorted(requirement.extras))
        if key in found or key[0].startswith("tensorflow"):
            continue
        found[key] = importlib.metadata.distribution(requirement.name)
        for line in found[key].requires or ():
            needed = Requirement(line)
            extras = [{"extra": extra} for extra in (*requirement.extras, "")]
            if needed.marker is None or any(map(needed.marker.evaluate, extras)):
                waiting.append(needed)
    return found.values()


# A new process tries every layer and pretraining on a backend: a minute.
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_backend(backend, tmp_path):
    """The checks pass in an environment with no other backend."""
    require_installed(backend)
    python = make_environment(tmp_path, ["keras-elmo", backend, "regex", "pytest"])
    check(python, KERAS_BACKEND=backend)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_beside_tensorflow(backend):
    """TensorFlow is not imported, even where it is installed."""
    require_installed(backend)
    check(sys.executable, KERAS_BACKEND=backend)


def check(python, **variables):
    module = check_backend.__name__
    assert run(python, "-m", module, cwd=ROOT, **variables).endswith("ok\n")


@pytest.mark.graph
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "check",
    [
        check_backend.check_character_gradient,
        check_backend.check_copies,
        check_backend.check_distinct_words,
        check_backend.check_downstream,
    ],
)
def test_tensorflow(check):
    """Checks that no other test makes on TensorFlow."""
    check()
