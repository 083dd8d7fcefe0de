"""What the first line of a table tells."""

import contextlib
import csv
import json
from collections.abc import Container

from keras_elmo.text.columns import is_header


def is_row(line: str, labels: Container[object]) -> bool:
    """Whether a line without a known form is a row of a table, and no text."""
    if "\t" in line.strip():
        return True
    if line.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            return isinstance(json.loads(line), dict)
    with contextlib.suppress(csv.Error):
        cells = next(csv.reader([line], strict=True))
        # In a sentence, a space follows a comma.
        if len(cells) > 1 and not any(cell.startswith(" ") for cell in cells):
            return is_header(cells) or has_labels(cells[-1], labels)
    return False


def has_labels(cell: str, labels: Container[object]) -> bool:
    """Whether a cell is a label that is known, or several with commas between."""
    return all(part.strip() in labels for part in cell.split(","))


def separator_of(line: str) -> str:
    """Returns what is between the columns of CSV: in some countries a semicolon."""
    for separator in ",;":
        with contextlib.suppress(csv.Error):
            if len(next(csv.reader([line], delimiter=separator, strict=True))) > 1:
                return separator
    return ","
