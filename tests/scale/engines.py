"""Engines on loopback, each of real processes that can be killed."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.helpers.fresh_process import environment, forked_python


def start(python, *arguments, cwd, log):
    # The pool starts its workers as `python`.
    path = os.pathsep.join([str(forked_python().parent), os.environ["PATH"]])
    with open(log, "ab") as file:
        return subprocess.Popen(
            [python, *map(str, arguments)],
            cwd=cwd,
            env=environment(PATH=path),
            stdout=file,
            stderr=file,
        )


# Beam's workers import what they need, and nothing of this process.
JOB = """
import json, sys
from apache_beam.options.pipeline_options import PipelineOptions
from keras_elmo import scale

name, arguments, *options = sys.argv[1:]
getattr(scale, name)(**json.loads(arguments), options=PipelineOptions(options))
"""


def start_job(name, arguments, options, cwd):
    """Starts a process that calls a function of keras_elmo.scale."""
    job = ("-c", JOB, name, json.dumps(arguments, default=os.fspath))
    return start(forked_python(), *job, *options, cwd=cwd, log=cwd / f"{name}.log")


def run_job(name, arguments, options, cwd):
    """Runs a job to its end; it has to succeed."""
    job = start_job(name, arguments, options, cwd)
    try:
        status = job.wait(timeout=600)
    finally:
        job.kill()
    assert status == 0, (cwd / f"{name}.log").read_text(encoding="utf-8")[-4000:]


def wait_until(true, timeout=600):
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < timeout
        time.sleep(0.05)


def children(process):
    """Returns the processes that a process has started; Linux only."""
    numbers = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        # A thread, or the process, may end meanwhile.
        with contextlib.suppress(OSError):
            numbers += map(int, path.read_text().split())
    return numbers


def descendants(process):
    own = children(process)
    return own + [other for child in own for other in descendants(child)]


@contextlib.contextmanager
def running(*commands, cwd, python=sys.executable):
    """Starts servers, and ends them with all that they have started."""
    with contextlib.ExitStack() as stack:
        processes = []
        for number, command in enumerate(commands):
            log = cwd / f"server-{number}.log"
            process = start(python, *command, cwd=cwd, log=log)
            stack.callback(_end, process)
            processes.append(process)
        yield processes


def _end(process):
    for number in [process.pid, *descendants(process.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def portable_runner(cwd):
    """A job service and a pool of workers; yields options, and how to find a worker."""
    service, pool = free_port(), free_port()
    module = "apache_beam.runners"
    commands = [
        ("-m", f"{module}.portability.local_job_service_main", "--port", service),
        ("-m", f"{module}.worker.worker_pool_main", "--service_port", pool),
    ]
    with running(*commands, cwd=cwd) as (_, pool_process):
        wait_until(lambda: _listens(service) and _listens(pool))
        options = [
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{service}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{pool}",
        ]
        yield options, lambda: children(pool_process.pid)


@contextlib.contextmanager
def dask_runner(cwd):
    """A scheduler and two workers; yields options, and the processes of the workers."""
    file = cwd / "scheduler.json"
    on_loopback = ("--host", "127.0.0.1", "--scheduler-file", file, "--no-dashboard")
    module = "distributed.cli.dask_worker"
    worker = ("-m", module, *on_loopback, "--nthreads", 1, "--no-nanny")
    commands = [
        ("-m", "distributed.cli.dask_scheduler", *on_loopback, "--port", 0),
        *[worker] * 2,
    ]
    with running(*commands, cwd=cwd, python=forked_python()) as (_, *workers):
        wait_until(lambda: file.exists() and file.read_text(encoding="utf-8"))
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        options = [
            "--runner=apache_beam.runners.dask.dask_runner.DaskRunner",
            f"--dask_client_address={address}",
            "--dask_npartitions=4",
        ]
        yield options, workers
