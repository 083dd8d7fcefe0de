"""Runs Python in a process of its own, for what only shows up there."""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
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


def run_script(script, *arguments, cwd):
    """Runs a script like `run_python`, in a process that has TensorFlow already.

    It takes seconds less. Nothing of this package is imported yet, nothing computed.
    """
    with tempfile.TemporaryDirectory() as folder:
        said, errors = Path(folder, "stdout"), Path(folder, "stderr")
        request = {
            "arguments": list(map(str, [script, *arguments])),
            "cwd": str(cwd),
            "stdout": str(said),
            "stderr": str(errors),
        }
        server = _fork_server()
        print(json.dumps(request), file=server.stdin, flush=True)
        status = int(server.stdout.readline() or -1)
        assert status == 0, said.read_text() + errors.read_text()
        return said.read_text()


@functools.cache
def _fork_server():
    server = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("fork_server.py")],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    # It ends with its stdin.
    atexit.register(server.wait)
    atexit.register(server.stdin.close)
    return server


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
