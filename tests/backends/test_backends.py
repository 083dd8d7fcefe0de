"""Every Keras backend agrees with the oracle, and needs no TensorFlow but its own."""

import sys

import pytest

from tests.helpers import check_backend
from tests.helpers.bare_environment import make_environment
from tests.helpers.fresh_process import ROOT, run
from tests.helpers.installed import require_installed


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
