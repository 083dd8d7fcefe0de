"""Every Keras backend agrees with the oracle, and needs no TensorFlow but its own."""

import pytest

from tests.fresh_process import ROOT, run_python
from tests.installed import require_installed


# A new process tries every layer and pretraining on a backend: 40 seconds.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "arguments"),
    [
        ("tensorflow", []),
        ("jax", []),
        ("jax", ["--without-tensorflow"]),
        ("torch", []),
        ("torch", ["--without-tensorflow"]),
    ],
    ids=lambda value: "".join(value),
)
def test_backend(backend, arguments):
    require_installed(backend)
    module = "tests.backends.check_backend"
    printed = run_python("-m", module, *arguments, cwd=ROOT, KERAS_BACKEND=backend)
    assert printed.endswith("ok\n")
