"""Writes a notebook beside each page of this folder; `make notebooks` calls it.

A block of Python becomes a cell of code, and what is between two blocks a cell of text.
Outputs that a page shows are left out: the notebook computes them.
"""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```\n.*?^```\n)?", re.M | re.S)
# Links between pages have no meaning beside a notebook.
_LINK = re.compile(r"\[([^]]*)\]\((?!https?:)[^)]*\)")


def pages() -> list[Path]:
    """Returns the pages that have a notebook."""
    return sorted(path for path in FOLDER.glob("*.md") if path.stem != "index")


def notebook(page: str) -> str:
    """Returns the JSON of a page's notebook."""
    parts = _BLOCK.split(page)
    cells = []
    for number, part in enumerate(parts):
        source = _LINK.sub(r"\1", part).strip() if number % 2 == 0 else part.strip()
        if source:
            cell = {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}}
            if number % 2:
                cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
            cells.append({**cell, "source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path in pages():
        text = notebook(path.read_text(encoding="utf-8"))
        path.with_suffix(".ipynb").write_text(text, encoding="utf-8")
