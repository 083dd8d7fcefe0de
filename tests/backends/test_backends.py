"""Every Keras backend agrees with the oracle, and needs no TensorFlow but its own."""

import pytest

from tests.helpers import check_backend
from tests.helpers.fresh_process import ROOT, run_python
from tests.helpers.installed import require_installed


# A new process tries every layer and pretraining on a backend: 40 seconds.
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
@pytest.mark.parametrize("arguments", [[], ["--without-tensorflow"]], ids="".join)
def test_backend(backend, arguments):
    require_installed(backend)
    module = check_backend.__name__
    printed = run_python("-m", module, *arguments, cwd=ROOT, KERAS_BACKEND=backend)
    assert printed.endswith("ok\n")


@pytest.mark.graph
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
    """What no other test does on TensorFlow; the other checks have their own there."""
    check()
