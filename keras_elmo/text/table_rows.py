"""Rows of named columns: TSV, CSV and JSON lines."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO, Literal, NamedTuple, NoReturn, TypeAlias

from keras_elmo.text.lines import Line, refuse_line, strict_lines
from keras_elmo.utils.checks import called, did_you_mean, received
from keras_elmo.utils.files import parse_json_object

Form: TypeAlias = Literal["tsv", "csv", "jsonl"]

_SUFFIXES: dict[str, Form] = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


class Columns(NamedTuple):
    """Names of columns, or places from 0 on in a file without a header.

    Without any, a header has the names `text`, `pair` and `label`; a file without one
    has the text first, the second text of a pair after it, and the label last.
    """

    text: str | int | None = None
    pair: str | int | None = None
    label: str | int | None = None


class Row(NamedTuple):
    """The values of a row by `text`, `pair` and `label`, and its first line."""

    line: int
    values: dict[str, object]


def form_of(path: str) -> Form | None:
    """Returns the form that the name of a file tells, if any."""
    path = path.lower().removesuffix(".gz").removesuffix(".xz")
    return next((_SUFFIXES[end] for end in _SUFFIXES if path.endswith(end)), None)


class TableRows:
    """The rows of a file, or of a stream; see `read_labelled`.

    Only the `wanted` fields of `columns` are read. The `form`, and whether it has a
    header, are known once the first row is read.
    """

    def __init__(
        self,
        path: str,
        columns: Columns,
        wanted: Sequence[str],
        stream: BinaryIO | None = None,
    ) -> None:
        self._path = path
        self._given = {name: getattr(columns, name) for name in wanted}
        self._lines = strict_lines(path, stream)
        self.form = form_of(path)
        self.has_header = True

    def __iter__(self) -> Iterator[Row]:
        first = next((line for line in self._lines if line[1].strip()), None)
        if first is None:
            return
        if self.form is None:
            is_json = first[1].lstrip().startswith("{")
            self.form = "jsonl" if is_json else "tsv" if "\t" in first[1] else "csv"
        lines = chain([first], self._lines)
        yield from self._objects(lines) if self.form == "jsonl" else self._cells(lines)

    def refuse(self, row: Row, rule: str, value: object) -> NoReturn:
        """Raises the `ValueError` of a row that breaks a rule."""
        refuse_line(self._path, row.line, rule, value)

    def _objects(self, lines: Iterable[Line]) -> Iterator[Row]:
        names = {
            name: name if given is None else str(given)
            for name, given in self._given.items()
        }
        for number, line in lines:
            if not line.strip():
                continue
            row = parse_json_object(line.encode(), f"{self._path}, line {number}")
            for name in names.values():
                if name not in row:
                    refuse_line(self._path, number, f"have the key {name}", line)
            yield Row(number, {name: row[key] for name, key in names.items()})

    def _cells(self, lines: Iterable[Line]) -> Iterator[Row]:
        places: dict[str, int] = {}
        width = 0
        separator, split = "tabs", _tab_separated
        if self.form == "csv":
            separator, split = "commas", self._comma_separated
        for number, cells in split(lines):
            if not width:
                width = len(cells)
                places = self._places(number, cells)
                if self.has_header:
                    continue
            if len(cells) != width:
                rule = f"have {width} columns, with {separator} between them"
                refuse_line(self._path, number, rule, cells)
            yield Row(number, {name: cells[place] for name, place in places.items()})

    def _comma_separated(
        self, lines: Iterable[Line]
    ) -> Iterator[tuple[int, list[str]]]:
        last = 0

        def read() -> Iterator[str]:
            nonlocal last
            for number, line in lines:
                last = number
                yield f"{line}\n"

        rows = csv.reader(read(), strict=True)
        while True:
            first = last + 1
            try:
                cells = next(rows, None)
            except csv.Error as error:
                refuse_line(self._path, first, f"begin a row of CSV ({error})", "")
            if cells is None:
                return
            if any(map(str.strip, cells)):
                yield first, cells

    def _places(self, number: int, cells: list[str]) -> dict[str, int]:
        """Returns the places of the columns by the first row, perhaps a header."""
        where = f"{self._path}, line {number}"
        names, given = [cell.strip() for cell in cells], [*self._given.values()]
        is_default = not any(column is not None for column in given)
        self.has_header = any(isinstance(column, str) for column in given) or (
            is_default and not {*names}.isdisjoint(Columns._fields)
        )
        if self.has_header:
            return named_places(names, self._given, where)
        defaults = {"text": 0, "pair": 1, "label": len(cells) - 1}
        places = {name: defaults[name] for name in self._given}
        for name, place in self._given.items():
            if place is not None and not 0 <= int(place) < len(cells):
                _refuse_column(name, f"from 0 to {len(cells) - 1} in {where}", place)
            places[name] = places[name] if place is None else int(place)
        # A label may stand beside texts that are read alone.
        most = len(places) + ("label" not in places)
        if len({*places.values()}) < len(places) or (is_default and len(cells) > most):
            flags = ", ".join(called(f"{name}_column") for name in places)
            rule = f"have a {' and a '.join(places)} alone, or a header that names the "
            rule += f"columns; or give {flags}"
            refuse_line(self._path, number, rule, cells)
        return places


def _tab_separated(lines: Iterable[Line]) -> Iterator[tuple[int, list[str]]]:
    for number, line in lines:
        if line.strip():
            yield number, line.split("\t")


def named_places(
    names: Sequence[str], given: dict[str, str | int | None], where: str
) -> dict[str, int]:
    """Returns the places of columns in a header, by the fields of `Columns`.

    `given` has the column for each field that is wanted, if it is known.
    """
    places: dict[str, int] = {}
    columns = {name: name if x is None else str(x) for name, x in given.items()}
    # Those that are there by their names come first.
    for name in sorted(given, key=lambda name: columns[name] not in names):
        column = columns[name]
        free = [place for place in range(len(names)) if place not in places.values()]
        if given[name] is None and column not in names and len(free) == 1:
            # Whatever it is called.
            column = names[free[0]]
        if column not in names:
            hint = did_you_mean(column, names)
            rule = f"one of {', '.join(names)}, in {where}"
            _refuse_column(name, rule, given[name], hint)
        if names.count(column) > 1:
            _refuse_column(name, f"a column that is there once, in {where}", column)
        places[name] = names.index(column)
    return places


def _refuse_column(name: str, rule: str, value: object, hint: str = "") -> NoReturn:
    argument = f"{name}_column"
    told = received(**{argument: value})
    raise ValueError(f"{called(argument)} must be {rule}. {told}{hint}")
