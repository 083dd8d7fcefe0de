"""Prints results of benchmarks as Markdown: their tables, and the commands.

python benchmarks/report.py RESULT.json [RESULT.json ...]
"""

import json
import sys
from collections.abc import Sequence

import common


def main(paths: Sequence[str]) -> None:
    for path in paths:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        lines = [common.caption(result), "", *result["table"]]
        print(*lines, "", "```", result["command"], "```", "", sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
