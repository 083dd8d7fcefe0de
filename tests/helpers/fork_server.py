"""Forks processes that have imported Keras and its backend, which takes seconds.

    python fork_server.py FOLDER/socket

`fork_client.py SOCKET ARGUMENTS` behaves as `python ARGUMENTS`: its process is forked
here, with the client's folder, variables, input and outputs. It ends with the client,
and the server with its standard input; FOLDER is deleted then.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys

import h5py  # noqa: F401
import keras


def main(path):
    if keras.backend.backend() == "tensorflow":
        importlib.import_module("tensorflow")
        # It has no wheels for some systems.
        with contextlib.suppress(ImportError):
            importlib.import_module("tensorflow_text")
    # Otherwise every collection in a child would copy this process's memory.
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                return shutil.rmtree(os.path.dirname(path))
            connection, _ = listener.accept()
            if not os.fork():
                break
            connection.close()
            reap()
    serve(connection)


def reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve(connection):
    """Runs one process; tells its id, then its status."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as file:
        request = json.loads(file.readline())
    child = os.fork()
    if not child:
        connection.close()
        return run(descriptors, **request)
    for descriptor in descriptors:
        os.close(descriptor)
    connection.sendall(b"%d\n" % child)
    done = 0
    while not done:
        # A client says nothing more, so this is its end.
        if select.select([connection], [], [], 0.02)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os._exit(0)
        done, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(OSError):
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def run(descriptors, python, arguments, cwd, environment):
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    # A program that starts others as itself starts them here, too.
    sys.executable = python
    match arguments:
        case ["-m", module, *_]:
            sys.argv = arguments[1:]
            sys.path[0] = cwd
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            sys.argv = ["-c", *rest]
            sys.path[0] = ""
            exec(code, {"__name__": "__main__"})
        case [script, *_]:
            sys.argv = arguments
            sys.path[0] = os.path.dirname(os.path.abspath(script))
            runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
