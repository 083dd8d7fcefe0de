"""Every Keras backend agrees with the oracle, and needs no TensorFlow but its own."""

import pytest

from tests.helpers import check_backend, check_host
from tests.helpers.bare_environment import make_environment
from tests.helpers.fresh_process import ROOT, run, run_python
from tests.helpers.installed import require_installed


# A new process tries every layer and pretraining on a backend: 40 seconds.
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
@pytest.mark.parametrize("arguments", [[], ["--without-tensorflow"]], ids="".join)
def test_backend(backend, arguments, tmp_path_factory):
    require_installed(backend)
    variables = {
        "KERAS_BACKEND": backend,
        # What both processes, and runs that are resumed in them, compile.
        "JAX_COMPILATION_CACHE_DIR": f"{tmp_path_factory.getbasetemp()}/compiled",
    }
    printed = run_python(
        "-m", check_backend.__name__, *arguments, cwd=ROOT, **variables
    )
    assert printed.endswith("ok\n")


# What a run needs is compiled and computed, a minute on two cores.
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_host_without_tensorflow(backend, tmp_path):
    """In an environment of its own, which has this backend and no other."""
    require_installed(backend)
    python = make_environment(tmp_path / "host", ["keras-elmo", backend, "regex"])
    (tmp_path / "files").mkdir()
    arguments = ["-m", check_host.__name__, tmp_path / "files"]
    printed = run(python, *arguments, cwd=ROOT, KERAS_BACKEND=backend)
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
