"""Forks processes that have imported TensorFlow and Keras, which takes seconds.

For each line of JSON on stdin, `{"arguments", "cwd", "stdout", "stderr"}`, a child runs
`python ARGUMENTS`, a script, with its output in those files; its status is printed.
"""

import json
import os
import runpy
import sys

import h5py  # noqa: F401
import keras  # noqa: F401
import tensorflow  # noqa: F401
import tensorflow_text  # noqa: F401


def redirect(path, descriptor):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, descriptor)
    os.close(file)


def main():
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        redirect(request["stdout"], 1)
        redirect(request["stderr"], 2)
        redirect(os.devnull, 0)
        os.chdir(request["cwd"])
        script, *_ = sys.argv = request["arguments"]
        sys.path[0] = os.path.dirname(script)
        return runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
