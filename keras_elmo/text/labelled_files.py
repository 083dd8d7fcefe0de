"""Files of texts with labels: TSV, CSV and JSON lines."""

import contextlib
import csv
import json
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

from keras_elmo.text.columns import ANY_COLUMNS, Columns, is_header, named_places
from keras_elmo.text.first_line import first_line, uncompressed
from keras_elmo.text.lines import Files, Line, expand_files, refuse_line, strict_lines
from keras_elmo.text.name_counts import may_be_header
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.files import parse_json_object

Form: TypeAlias = Literal["tsv", "csv", "jsonl"]
Value: TypeAlias = Any
# The number of a row's first line, and its values by the fields of `Columns`.
Row: TypeAlias = tuple[int, dict[str, Value]]

_SUFFIXES: dict[str, Form] = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


class LabelledText(NamedTuple):
    """A text, or both texts of a pair, and its labels.

    For messages: the name of its file, with its line, or another name.
    """

    texts: Sequence[Value]
    labels: list[Value]
    name: str = ""
    line: int = 0

    def where(self, place: int) -> str:
        """Returns where a label stands."""
        return f"{self.name}, line {self.line}" if self.line else self.name


def read_labelled(
    files: Files,
    columns: Columns = ANY_COLUMNS,
    pairs: bool = False,
    multi_label: bool = False,
) -> list[LabelledText]:
    """Reads texts, or pairs of them, with one label or, if `multi_label`, any number.

    The form follows from the name, `.tsv`, `.csv` or `.jsonl`, perhaps with `.gz` or
    `.xz` after it, or else from the first line. In TSV a quotation mark is a character
    like any other; CSV is quoted as Python's `csv` has it, and has semicolons if its
    first line has no comma. In JSON lines a text may be a list of words. Several labels
    are a list in JSON, otherwise they have commas between them.
    """
    rows: list[LabelledText] = []
    types: set[type] = set()
    for path in expand_files(files, of_sentences=False):
        fields = columns.fields(pairs)
        table = _Table(path, strict_lines(path), fields, multi_label)
        first = len(rows)
        for row in table.rows():
            rows.append(row)
            types.update(map(type, row.labels))
            if len(types) > 1:
                rule = "have labels of the type that other lines have"
                refuse_line(path, row.line, rule, _shown(row, multi_label))
        if len(rows) == first:
            raise ValueError(f"{path}: must hold texts with labels. Received: none")
        labels = [repr(_shown(row, multi_label)) for row in rows[first:]]
        if not table.has_header and may_be_header(labels):
            warnings.warn(
                f"{path}: the label {labels[0]} comes in the first line alone; if that "
                f"is a header, name a column of it with {called('label_column')}",
                stacklevel=3,
            )
    return rows


def _shown(row: LabelledText, multi_label: bool) -> Value:
    return row.labels if multi_label else row.labels[0]


def read_texts(
    path: str,
    stream: BinaryIO | None = None,
    columns: Columns = ANY_COLUMNS,
    pairs: bool = False,
    labels: Container[object] = (),
) -> Iterator[object]:
    """Yields the texts of a file, or of a stream that `path` names in messages.

    It is a table, as for `read_labelled`, if there are pairs, if a column or a form is
    named, or if its first line looks like one: with tabs, a JSON object, or in CSV a
    header or a last column among the known `labels`. Otherwise each line is a text, and
    `None` if it is blank.
    """
    first, lines = first_line(strict_lines(path, stream))
    is_table = pairs or columns.text is not None or _form_of(path) is not None
    if is_table or _is_row(first, labels):
        fields = columns.fields(pairs)
        del fields["label"]
        for row in _Table(path, lines, fields, known_labels=labels).rows():
            yield tuple(row.texts) if pairs else row.texts[0]
        return
    for _, text in lines:
        yield text if text.strip() else None


def _form_of(path: str) -> Form | None:
    """Returns the form that the name of a file tells, if any."""
    path = uncompressed(path)
    return next((_SUFFIXES[end] for end in _SUFFIXES if path.endswith(end)), None)


def _is_row(line: str, labels: Container[object]) -> bool:
    """Whether a line in a file of unknown form is a row of a table, not text."""
    if "\t" in line.strip():
        return True
    if line.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            return isinstance(json.loads(line), dict)
    with contextlib.suppress(csv.Error):
        cells = next(csv.reader([line], strict=True), [])
        # In a sentence, a space follows a comma.
        if len(cells) > 1 and not any(cell.startswith(" ") for cell in cells):
            return is_header(cells) or _are_labels(cells[-1], labels)
    return False


def _are_labels(cell: str, labels: Container[object]) -> bool:
    """Whether a cell is a known label, or several with commas between."""
    return all(part.strip() in labels for part in cell.split(","))


class _Table:
    """The lines of a file in one of the forms; see `read_labelled`.

    `fields` maps the wanted fields of `Columns` to the columns that were named. Whether
    there is a header is known once the first row is read.
    """

    def __init__(
        self,
        path: str,
        lines: Iterator[Line],
        fields: Mapping[str, str | int | None],
        multi_label: bool = False,
        known_labels: Container[object] = (),
    ) -> None:
        self._path = path
        self._first, self._lines = first_line(lines)
        is_json = self._first.lstrip().startswith("{")
        form: Form = "jsonl" if is_json else "tsv" if "\t" in self._first else "csv"
        self._form = _form_of(path) or form
        self._fields = fields
        self._multi_label = multi_label
        self._known_labels = known_labels
        self.has_header = True

    def rows(self) -> Iterator[LabelledText]:
        """Yields the rows, without labels if that field is not wanted."""
        for number, values in self._values():
            labels = (
                self._labels(number, values.pop("label")) if "label" in values else []
            )
            for name, text in values.items():
                words = text if isinstance(text, list) else [text]
                if not words or not all(
                    isinstance(x, str) and x.strip() for x in words
                ):
                    rule = f"have a {name} that is not empty"
                    refuse_line(self._path, number, rule, text)
            yield LabelledText([*values.values()], labels, self._path, number)

    def _values(self) -> Iterator[Row]:
        if self._form == "jsonl":
            return self._objects()
        if self._form == "tsv":
            # Unlike `csv`, which takes no cell of more than 131,072 characters.
            unquoted = ((number, line.split("\t")) for number, line in self._lines)
            return self._cells(unquoted, "tabs")
        # What some countries have in place of commas.
        if self._num_columns(",") < 2 <= self._num_columns(";"):
            return self._cells(self._quoted(";"), "semicolons")
        return self._cells(self._quoted(","), "commas")

    def _num_columns(self, separator: str) -> int:
        with contextlib.suppress(csv.Error):
            rows = csv.reader([self._first], delimiter=separator, strict=True)
            return len(next(rows, []))
        return 0

    def _labels(self, number: int, value: Value) -> list[Value]:
        labels, rule = [value], "have a label: a string or an integer"
        if self._multi_label:
            labels, rule = value, "have a list of labels, strings or integers"
            if isinstance(value, str) and self._form != "jsonl":
                labels = [part for part in value.split(",") if part.strip()]
        if not isinstance(labels, list):
            refuse_line(self._path, number, rule, value)
        labels = [x.strip() if isinstance(x, str) else x for x in labels]
        if not all(isinstance(label, str | int) and label != "" for label in labels):
            refuse_line(self._path, number, rule, value)
        if len({*labels}) < len(labels):
            refuse_line(self._path, number, "have distinct labels", value)
        return labels

    def _objects(self) -> Iterator[Row]:
        fields = self._fields.items()
        keys = {name: name if x is None else str(x) for name, x in fields}
        for number, line in self._lines:
            if not line.strip():
                continue
            row = parse_json_object(line.encode(), f"{self._path}, line {number}")
            for key in keys.values():
                if key not in row:
                    refuse_line(self._path, number, f"have the key {key}", line)
            yield number, {name: row[key] for name, key in keys.items()}

    def _cells(
        self, rows: Iterator[tuple[int, list[str]]], separators: str
    ) -> Iterator[Row]:
        places: dict[str, int] = {}
        width = 0
        for number, cells in rows:
            if not any(map(str.strip, cells)):
                continue
            if not width:
                width = len(cells)
                places = self._places(number, cells)
                if self.has_header:
                    continue
            if len(cells) != width:
                rule = f"have {width} columns, with {separators} between them"
                refuse_line(self._path, number, rule, cells)
            yield number, {name: cells[place] for name, place in places.items()}

    def _quoted(self, separator: str) -> Iterator[tuple[int, list[str]]]:
        row: list[str] = []

        def ended() -> Iterator[str]:
            for _, line in self._lines:
                row.append(line)
                yield f"{line}\n"

        rows = csv.reader(ended(), delimiter=separator, strict=True)
        while True:
            number = rows.line_num + 1
            row.clear()
            try:
                cells = next(rows, None)
            except csv.Error as error:
                rule = f"begin a row of CSV, each quotation mark closed ({error})"
                refuse_line(self._path, number, rule, row[0])
            if cells is None:
                return
            yield number, cells

    def _places(self, number: int, cells: list[str]) -> dict[str, int]:
        """Returns the places of the columns by the first row, perhaps a header."""
        where = f"{self._path}, line {number}"
        names, columns = [cell.strip() for cell in cells], [*self._fields.values()]
        is_default = all(column is None for column in columns)
        is_named = any(isinstance(column, str) for column in columns)
        self.has_header = is_named or is_header(names)
        if is_named or (is_default and self.has_header):
            hint = f" (or, if that is no header, a number from 0 to {len(cells) - 1})"
            where += "" if is_header(names) else hint
            return named_places(names, self._fields, where)
        places = {"text": 0, "pair": 1, "label": len(cells) - 1}
        places = {name: places[name] for name in self._fields}
        for name, place in self._fields.items():
            if place is not None:
                places[name] = int(place)
                if not 0 <= places[name] < len(cells):
                    rule = f"from 0 to {len(cells) - 1} in {where}"
                    refuse(f"{name}_column", rule, place)
        # A label may stand beside texts that are read alone.
        most = len(places) + ("label" not in places)
        distinct = {place for place in places.values() if place < len(cells)}
        if len(distinct) < len(places) or (is_default and len(cells) > most):
            flags = ", ".join(called(f"{name}_column") for name in places)
            rule = f"have a {' and a '.join(places)} alone, or a header that names the "
            rule += f"columns; or give {flags}"
            refuse_line(self._path, number, rule, cells)
        if is_default and self._known_labels and len(cells) == most > len(places):
            if not _are_labels(cells[-1], self._known_labels):
                warnings.warn(
                    f"{where}: the label {cells[-1]!r} is not known to the model; if "
                    "that is a header, name a column of it with "
                    f"{called('text_column')}",
                    stacklevel=4,
                )
        return places
