"""Runs Python in a process of its own, for what only shows up there."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# JAX and PyTorch are here for some tests alone. TensorFlow and Beam import them where
# they are, which takes seconds, and a user's process does without.
_ABSENT = ROOT / "tests" / "absent"


def environment(**variables):
    """This process's variables, with the package importable from anywhere."""
    # A test's own backend is for itself alone.
    inherited = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    on_tensorflow = variables.get("KERAS_BACKEND", "tensorflow") == "tensorflow"
    path = [_ABSENT, ROOT] if on_tensorflow else [ROOT]
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **variables,
    }


def run_python(*arguments, cwd, **variables):
    """Runs `python ARGUMENTS`, which has to succeed, and returns its output."""
    return run(sys.executable, *arguments, cwd=cwd, **variables)


def run(*command, cwd, **variables):
    """Runs a command, which has to succeed, and returns its output."""
    finished = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout
