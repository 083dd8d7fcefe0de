"""Results of benchmarks as Markdown: a table and the commands that made it.

    python benchmarks/report.py RESULT.json [RESULT.json ...]

A result names the benchmark that it is of. The file of that name has the function
`table`, and `OPTIONS`, by which the command is written.
"""

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from common import Result


def main(paths: Sequence[str]) -> None:
    """Prints a table for each benchmark among the files."""
    results: dict[str, list[Result]] = {}
    for path in paths:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
        results.setdefault(result["benchmark"], []).append(result)
    for name, chosen in results.items():
        table = import_module(name).table(chosen)
        print(f"{table}\n\n```\n{commands(chosen)}\n```\n")


def commands(results: Sequence[Result]) -> str:
    """Returns the commands that made the results, a line each."""
    return "\n".join(map(_command, results))


def _command(result: Result) -> str:
    name = result["benchmark"]
    options = [
        f"--{option.replace('_', '-')} {_argument(result[option])}"
        for option in import_module(name).OPTIONS
        if result[option] is not None
    ]
    return " ".join([f"python benchmarks/{name}.py", *options])


def _argument(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
