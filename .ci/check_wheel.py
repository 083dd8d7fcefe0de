"""Installs a wheel in a new environment and runs the first example of the README.

    python .ci/check_wheel.py dist/keras_elmo-*.whl [--with-dependencies]

The environment lies outside of the clone. It borrows the dependencies of the Python
that runs this script, unless they are to be installed, too, which takes minutes.
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
CHECK = """
import importlib.metadata, pathlib, sys
import keras_elmo

package = pathlib.Path(keras_elmo.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert (package / "py.typed").exists()
assert importlib.metadata.version("keras-elmo") == keras_elmo.__version__
assert [model.name for model in keras_elmo.list_models()][:2] == ["elmo-en", "elmo-ko"]
"""


def first_example() -> tuple[str, list[str]]:
    """Returns the Python and the command under "First vectors"."""
    text = README.read_text(encoding="utf-8")
    section = text.split("\n## First vectors\n", 1)[1].split("\n## ", 1)[0]
    code = re.search(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    command = re.search(r"^keras-elmo (embed .*)$", section, re.MULTILINE)
    if code is None or command is None:
        sys.exit(f"{README} has no first example")
    return code[1], command[1].split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel")
    parser.add_argument("--with-dependencies", action="store_true")
    arguments = parser.parse_args()
    code, command = first_example()
    with tempfile.TemporaryDirectory() as folder:
        environment, elsewhere = Path(folder, "environment"), Path(folder, "elsewhere")
        elsewhere.mkdir()
        (elsewhere / "sentences.txt").write_text("We sat on the bank .\n")
        variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        variables["KERAS_HOME"] = variables["HF_HOME"] = str(Path(folder, "cache"))

        def run(what: str, *command: str | Path) -> None:
            began = time.monotonic()
            subprocess.run(command, check=True, cwd=elsewhere, env=variables)
            print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)

        venv.create(environment)
        python = environment / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
        wheel = Path(arguments.wheel).resolve()
        if arguments.with_dependencies:
            run("pip install, with all dependencies", *pip, wheel)
        else:
            run("pip install", *pip, "--no-deps", wheel)
            # Its own packages alone: what is installed there as editable stays away.
            (packages,) = environment.glob("lib/python*/site-packages")
            borrowed = sysconfig.get_path("purelib")
            (packages / "borrowed.pth").write_text(f"{borrowed}\n")
        run("the package", python, "-W", "error", "-c", CHECK)
        run("the README's first example", python, "-c", code)
        run("the README's first command", environment / "bin" / "keras-elmo", *command)
        print(*(path.name for path in elsewhere.iterdir()))


if __name__ == "__main__":
    main()
