"""Every Keras backend agrees with the oracle, and needs no TensorFlow but its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed import require_installed

ROOT = Path(__file__).parents[2]


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
    finished = subprocess.run(
        [sys.executable, "-m", "tests.backends.check_backend", *arguments],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith("ok\n")
