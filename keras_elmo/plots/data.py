"""Reads the CSV files that plots are drawn from."""

import csv
import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from keras_elmo.utils.types import StrPath


def read_csv(path: StrPath, *columns: str) -> list[dict[str, float | None]]:
    """Reads rows of numbers; an empty cell is `None`, a missing column an error."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return parse_csv(file, os.fspath(path), *columns)


def parse_csv(file: TextIO, name: str, *columns: str) -> list[dict[str, float | None]]:
    """Does so for an open file, which messages call `name`."""
    reader = csv.DictReader(file)
    try:
        names = reader.fieldnames or ()
    except csv.Error:
        # Of a file that is no CSV.
        names = ()
    for column in columns:
        if column not in names:
            raise ValueError(f"{name}: lacks the column {column}")
    try:
        return [
            {name: float(cell) if cell else None for name, cell in row.items()}
            for row in reader
        ]
    except (TypeError, ValueError, csv.Error) as error:
        where = f"{name}: line {reader.line_num}"
        raise ValueError(f"{where} must hold numbers: {error}") from error


def last_mixes(
    rows: Sequence[Mapping[str, float | None]],
) -> dict[str, list[list[float]]]:
    """Returns the mixes of the last row, by the names of their layers in Keras."""
    mixes: dict[str, list[list[float]]] = {}
    for row in rows[-1:]:
        for name, value in row.items():
            prefix, separator, layer = name.rpartition("/layer_")
            if separator and layer.isdigit() and value is not None:
                mixes.setdefault(prefix, [[]])[0].append(value)
    return mixes
