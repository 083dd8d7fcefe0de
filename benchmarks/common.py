"""Shared by all benchmarks: options, data, tables, and how a result is kept.

Imports nothing heavy, so that a benchmark of start-up or memory starts from little.
"""

import argparse
import inspect
import json
import os
import platform
import re
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# Read when TensorFlow is imported, so import this module before Keras.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

_HERE = Path(__file__).resolve().parent
ROOT = _HERE.parent

# What a benchmark writes, by the names in its JSON.
Result = dict[str, Any]

_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z\"'(])")
# By Linux's names of them.
_INSTRUCTIONS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "VNNI",
    "avx_vnni": "AVX-VNNI",
    "avx512_bf16": "bfloat16",
    "amx_tile": "AMX",
}
# What makes TensorFlow compute as on a lesser processor.
_LIMITS = ("ONEDNN_MAX_CPU_ISA", "TF_ENABLE_ONEDNN_OPTS")
_PACKAGES = (
    *("keras-elmo", "tensorflow", "tensorflow-text", "keras", "jax", "numpy"),
    "onnxruntime",
)


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
    """Splits raw text into sentences by a simple rule."""
    return (sentence for line in paragraphs for sentence in _SENTENCE_END.split(line))


def existing(argument: str) -> Path:
    """Reads the path of a file or folder that must exist, as the type of an option."""
    path = Path(argument)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no file or folder {argument}")
    return path


def options(
    description: str | None,
    arguments: Sequence[str] | None = None,
    default_corpus: str | None = None,
    **declared: Any,
) -> argparse.Namespace:
    """Reads the command line of a benchmark.

    Args:
        description: the benchmark's docstring.
        arguments: of the command line; those of the process if `None`.
        default_corpus: adds `--corpus`; the file of the data that it stands for if it
            is not given.
        **declared: the other options: a default, or a tuple of the default, the help
            text, and further arguments of `add_argument`. A default's type is the
            option's; a list takes several values. An option that is required or has a
            `metavar` is of one machine, such as a path, and not kept in a result.

    Returns:
        The values, `out`, and `settings`: the values that a result keeps.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", metavar="FILE", help="write the result as JSON")
    if default_corpus:
        text = f"text ({default_corpus} of the data)"
        declared["corpus"] = (None, text, {"type": existing, "metavar": "FILE"})
    for name, declaration in declared.items():
        value, text, extra = _declaration(declaration)
        one = next(iter(value), None) if isinstance(value, list) else value
        extra = {"type": type(one)} | extra if one is not None else extra
        if isinstance(value, list):
            extra = {"nargs": "+"} | extra
        if one is not None:
            text = f"{text} (default: {_shown(value)})".strip()
        parser.add_argument(
            f"--{name.replace('_', '-')}", default=value, help=text, **extra
        )
    values = parser.parse_args(arguments)
    values.settings = {
        name: getattr(values, name)
        for name, declaration in declared.items()
        if not _declaration(declaration)[2].keys() & {"metavar", "required"}
    }
    if default_corpus and values.corpus is None:
        try:
            values.corpus = data_folder() / default_corpus
        except ValueError as error:
            parser.error(str(error))
    return values


def _declaration(declaration: Any) -> tuple[Any, str, dict[str, Any]]:
    if not isinstance(declaration, tuple):
        return declaration, "", {}
    value, text, *extra = declaration
    return value, text, dict(*extra)


def _shown(value: Any) -> str:
    return shlex.join(map(str, value if isinstance(value, list) else [value]))


def publish(
    options: argparse.Namespace, table: Callable[[Result], str], **figures: Any
) -> None:
    """Prints a result's table, and keeps the result as JSON if `--out` is given.

    The file has the command and the table, too, for `report.py`.

    Args:
        options: of the benchmark.
        table: makes Markdown of a result; it stands in the benchmark's script.
        **figures: what was measured. The options are added.
    """
    script = Path(inspect.getfile(table)).resolve()
    chosen = [
        f"--{option.replace('_', '-')} {_shown(value)}".rstrip()
        for option, value in options.settings.items()
        if value is not None
    ]
    result = {
        "benchmark": script.stem,
        "command": " ".join(["python", str(script.relative_to(ROOT)), *chosen]),
        "environment": environment(),
        **options.settings,
        **figures,
    }
    result["table"] = table(result).splitlines()
    if options.out is not None:
        write_json(options.out, result)
    print(caption(result), "", *result["table"], sep="\n")


def caption(result: Result) -> str:
    """Returns the processor that a result was measured on, and what it used of it."""
    known = result["environment"]
    instructions = f": {known['instructions']}" if "instructions" in known else ""
    return f"{known['machine']}, {known['cores']} cores{instructions}"


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes indented JSON, making the folder if need be."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def spread(speeds: Sequence[float]) -> list[str]:
    """Returns two cells: the median, and the least to the most."""
    least, most = min(speeds), max(speeds)
    return [f"{statistics.median(speeds):,.0f}", f"{least:,.0f} to {most:,.0f}"]


def megabytes(count: float) -> str:
    """Returns a number of bytes as a cell."""
    return f"{count / 1e6:,.0f}"


def in_turn(
    systems: Mapping[str, Callable[[], float]], repeats: int, label: str = ""
) -> dict[str, list[float]]:
    """Measures systems one after the other, several times.

    The first round prepares graphs and caches, and does not count.

    Args:
        systems: each returns a figure, such as words/s.
        repeats: how often each is measured.
        label: printed before each system's name on stderr.
    """
    measured: dict[str, list[float]] = {name: [] for name in systems}
    for repeat in range(-1, repeats):
        for name, measure in systems.items():
            figure = measure()
            if repeat >= 0:
                measured[name].append(figure)
                print(f"{label}{name}: {figure:,.4g}", file=sys.stderr, flush=True)
    return measured


def call_in_process(
    module: str, function: str, *arguments: Any, python: str = sys.executable
) -> str:
    """Calls a function of a benchmark with strings in a fresh process.

    The process that measures has to stay small: on Linux the peak memory of a new one
    begins with that of the one that starts it.

    Args:
        module: the benchmark.
        function: its name.
        *arguments: of the function, as strings.
        python: the interpreter, of a peer's environment if it is a peer's code.

    Returns:
        What the function prints.
    """
    code = f"import sys, {module}; {module}.{function}(*sys.argv[1:])"
    # The path is relative to here, the process runs elsewhere.
    python = os.path.abspath(shutil.which(python) or python)
    command = [python, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, cwd=_HERE, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


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
        "machine": _cpuinfo("model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "instructions": instructions(_cpuinfo("flags").split(), os.environ),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpuinfo(field: str) -> str:
    """Returns what Linux says of the first processor, empty if nothing."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    line = re.search(rf"^{field}\s*: *(.*)$", text, re.MULTILINE)
    return line[1].strip() if line else ""


def instructions(flags: Iterable[str], variables: Mapping[str, str]) -> str:
    """Returns the instruction sets that products may use.

    ONNX Runtime uses all that the processor has; variables limit TensorFlow alone.
    """
    present = set(flags)
    names = [name for flag, name in _INSTRUCTIONS.items() if flag in present]
    limits = [f"{name}={variables[name]}" for name in _LIMITS if name in variables]
    return ", ".join(names) + (f"; {' '.join(limits)}" if limits else "")
