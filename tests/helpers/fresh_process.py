"""Runs Python in a process of its own, for what only shows up there."""

import atexit
import functools
import importlib.util
import mmap
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

_HELPERS = Path(__file__).parent
ROOT = _HELPERS.parents[1]
# JAX, PyTorch and scikit-learn are here for some tests alone. TensorFlow, Keras and
# Beam import them where they are, which takes seconds: a user's process does without.
_ABSENT = _HELPERS / "absent"
# Tests of benchmarks put a forked one in its place.
_PYTHON = sys.executable


def environment(**variables):
    """This process's variables, with the package importable from anywhere."""
    # A test's own backend is for itself alone.
    inherited = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    backend = variables.get("KERAS_BACKEND", "tensorflow")
    path = [_ABSENT, ROOT] if backend == "tensorflow" else [ROOT]
    flags = {"XLA_FLAGS": _quick_compiler()} if backend == "jax" else {}
    return {
        **flags,
        **inherited,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **variables,
    }


@functools.cache
def _quick_compiler():
    """The flag with which JAX compiles in half the time, if its XLA still has it."""
    flag = "xla_cpu_use_fusion_emitters"
    spec = importlib.util.find_spec("jaxlib")
    for library in Path(spec.origin).parent.glob("libjax_common.so") if spec else ():
        with open(library, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if content.find(flag.encode()) >= 0:
                    return f"--{flag}=false"
    return ""


def run_python(*arguments, cwd, **variables):
    """Runs `python ARGUMENTS`, which has to succeed, and returns its output."""
    return run(_PYTHON, *arguments, cwd=cwd, **variables)


def run_script(script, *arguments, cwd, **variables):
    """Runs a script like `run_python`, in a process that has TensorFlow already.

    It takes seconds less. Nothing of this package is imported yet, nothing computed.
    """
    return run(forked_python(), script, *arguments, cwd=cwd, **variables)


@functools.cache
def forked_python(backend="tensorflow"):
    """Returns a `python` that has imported the backend and Keras.

    It reads neither PYTHONPATH nor Python's own options. `keras-elmo` is beside it.
    """
    # The path of a socket is short.
    folder = Path(tempfile.mkdtemp(prefix="fork"))
    server = subprocess.Popen(
        [_PYTHON, _HELPERS / "fork_server.py", folder / "socket"],
        env=environment(KERAS_BACKEND=backend),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    # It ends with its stdin.
    atexit.register(server.wait)
    atexit.register(server.stdin.close)
    python = folder / "python"
    client = [_PYTHON, "-IS", _HELPERS / "fork_client.py", folder / "socket", python]
    for path, arguments in ((python, ""), (folder / "keras-elmo", "-m keras_elmo ")):
        command = shlex.join(map(str, client))
        path.write_text(f'#!/bin/sh\nexec {command} {arguments}"$@"\n')
        path.chmod(0o755)
    assert server.stdout.readline() == b"ready\n"
    return python


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
