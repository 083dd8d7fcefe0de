"""What every benchmark needs: where the data lies, and what its numbers were made with.

Imports nothing heavy, so that a benchmark of start-up or memory starts from little.
"""

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# Read when TensorFlow is imported, so import this module before Keras.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

ROOT = Path(__file__).resolve().parents[1]

# What a benchmark writes, by the names in its JSON.
Result = dict[str, Any]

_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z\"'(])")
_PACKAGES = ("keras-elmo", "tensorflow", "tensorflow-text", "keras", "jax", "numpy")


def data_folder() -> Path:
    """Returns the folder of the public corpora.

    Raises:
        ValueError: it does not exist.
    """
    folder = Path(os.environ.get("KERAS_ELMO_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise ValueError(f"no folder {folder}; KERAS_ELMO_DATA names another one")
    return folder


def sentences(paragraphs: Iterable[str]) -> Iterator[str]:
    """Cuts raw text where a sentence ends, about."""
    return (sentence for line in paragraphs for sentence in _SENTENCE_END.split(line))


def parser(
    description: str | None, corpus: str | None = None
) -> argparse.ArgumentParser:
    """Returns a parser that has `--out`, the JSON that a benchmark writes.

    Args:
        description: what the benchmark is for.
        corpus: the file of the data to read unless `--corpus` names another.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", metavar="FILE", help="keep the figures as JSON")
    if corpus:
        text = f"text ({corpus} of the data)"
        parser.add_argument("--corpus", type=Path, metavar="FILE", help=text)
        parser.set_defaults(default_corpus=corpus)
    return parser


def corpus(options: argparse.Namespace) -> Path:
    """Returns the text to read."""
    return options.corpus or data_folder() / options.default_corpus


def settings(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Returns the values of some of the options, to be part of a result."""
    return {name: getattr(options, name) for name in names}


def call_in_process(module: str, function: str, *arguments: Any) -> None:
    """Calls a function of a benchmark's module with strings, in a fresh process.

    The process that measures is to stay small: on Linux the peak memory of a new one
    begins with that of the one that starts it.
    """
    code = f"import sys, {module}; {module}.{function}(*sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    subprocess.run(command, cwd=Path(__file__).parent, check=True)


def peak_bytes() -> int:
    """Returns the most memory that this process has had in use."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in kibibytes, macOS in bytes.
    return peak if sys.platform == "darwin" else 1024 * peak


def environment() -> dict[str, Any]:
    """Returns the versions and the machine that numbers depend on."""
    return {
        "python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
        "machine": _processor(),
        "cores": os.cpu_count(),
    }


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes indented JSON, making the folder if need be."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def publish(
    result: Result,
    table: Callable[[Sequence[Result]], str],
    path: str | os.PathLike[str] | None,
) -> None:
    """Prints a result's table; writes it, with what it was made with, if `path` is."""
    if path is not None:
        write_json(path, {"environment": environment()} | result)
    print(table([result]))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()
