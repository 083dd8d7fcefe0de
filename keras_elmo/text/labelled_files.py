"""Files of texts with labels: TSV, CSV and JSON lines."""

import csv
import warnings
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, BinaryIO, Literal, TypeAlias

from keras_elmo.text.columns import ANY_COLUMNS, Columns, is_header, named_places
from keras_elmo.text.first_row import has_labels, is_row, separator_of
from keras_elmo.text.lines import Files, Line, expand_files, refuse_line, strict_lines
from keras_elmo.utils.checks import called, refuse
from keras_elmo.utils.files import parse_json_object

Form: TypeAlias = Literal["tsv", "csv", "jsonl"]
# Texts, pairs of them, or labels.
Values: TypeAlias = Any
# The number of a row's first line, and its values by `text`, `pair` and `label`.
Row: TypeAlias = tuple[int, dict[str, object]]

_SUFFIXES: dict[str, Form] = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
# A file of more examples, whose first label comes once, may have a header.
_FEW_EXAMPLES = 4


class FileLabels(list[Values]):
    """Labels, and the file and the line of each."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, int]] = []


def read_labelled(
    files: Files,
    columns: Columns = ANY_COLUMNS,
    pairs: bool = False,
    multi_label: bool = False,
) -> tuple[list[Values], FileLabels]:
    """Reads texts, or pairs of them, and a label or a list of labels for each.

    The form follows from the name, `.tsv`, `.csv` or `.jsonl`, perhaps with `.gz` or
    `.xz` after it, or else from the first line. In TSV a quotation mark is a character
    like any other; CSV is quoted as Python's `csv` has it, and has semicolons if its
    first line has no comma. In JSON lines a text may be a list of words. With
    `multi_label` a row has any number of labels: in JSON a list of them, otherwise with
    commas between.
    """
    texts: list[Values] = []
    labels = FileLabels()
    for path in expand_files(files, of_sentences=False):
        table = _Table(path, columns, pairs, has_labels=True)
        kinds: set[type] = set()
        first = len(texts)
        for row in table.rows():
            texts.append(table.text(row))
            labels.append(table.label(row, multi_label))
            labels.lines.append((path, row[0]))
            kinds.update(map(type, labels[-1] if multi_label else labels[-1:]))
            if len(kinds) > 1:
                rule = "have labels of the type that other lines have"
                refuse_line(path, row[0], rule, row[1]["label"])
        if len(texts) == first:
            raise ValueError(f"{path}: must hold texts with labels. Received: none")
        if not table.has_header:
            _warn_of_header(path, labels[first:])
    return texts, labels


def read_texts(
    path: str,
    stream: BinaryIO | None = None,
    columns: Columns = ANY_COLUMNS,
    pairs: bool = False,
    labels: Container[object] = (),
) -> Iterator[object]:
    """Yields the texts of a file, or of a stream that `path` names in messages.

    It is a table, as for `read_labelled`, if there are pairs, a column or a form are
    named, or its first line is one of a table: with tabs, a JSON object, or in CSV a
    header or a last column among the known `labels`. Otherwise there is a text on each
    line, and `None` for a blank one.
    """
    lines = strict_lines(path, stream)
    begun = []
    for line in lines:
        begun.append(line)
        if line[1].strip():
            break
    lines = chain(begun, lines)
    is_table = pairs or _form_of(path) or columns.text is not None
    if is_table or (begun and is_row(begun[-1][1], labels)):
        table = _Table(
            path, columns, pairs, has_labels=False, lines=lines, known_labels=labels
        )
        yield from map(table.text, table.rows())
        return
    for _, text in lines:
        yield text if text.strip() else None


def _form_of(path: str) -> Form | None:
    """Returns the form that the name of a file tells, if any."""
    path = path.lower().removesuffix(".gz").removesuffix(".xz")
    return next((_SUFFIXES[end] for end in _SUFFIXES if path.endswith(end)), None)


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _warn_of_header(path: str, labels: Sequence[object]) -> None:
    """Warns if the first label of a file without a header looks like a name."""
    first, *others = map(repr, labels)
    if len(others) < _FEW_EXAMPLES or first in others:
        return
    if 2 * len({*others}) <= len(others):
        warnings.warn(
            f"{path}: the label {first} comes in the first line alone; if that is a "
            f"header, name a column of it with {called('label_column')}",
            stacklevel=4,
        )


class _Table:
    """A file, or the lines of one; see `read_labelled`.

    Its form, and whether it has a header, are known once the first row is read.
    """

    def __init__(
        self,
        path: str,
        columns: Columns,
        pairs: bool,
        has_labels: bool,
        lines: Iterator[Line] | None = None,
        known_labels: Container[object] = (),
    ) -> None:
        self._path = path
        self._texts = ["text", "pair"] if pairs else ["text"]
        wanted = [*self._texts, "label"] if has_labels else self._texts
        self._given = {name: getattr(columns, name) for name in wanted}
        self._lines = strict_lines(path) if lines is None else lines
        self._form = _form_of(path)
        self.has_header = True
        self._known_labels = known_labels

    def rows(self) -> Iterator[Row]:
        """Yields the wanted values of each row."""
        first = next((line for line in self._lines if line[1].strip()), None)
        if first is None:
            return
        if self._form is None:
            is_json = first[1].lstrip().startswith("{")
            self._form = "jsonl" if is_json else "tsv" if "\t" in first[1] else "csv"
        lines = chain([first], self._lines)
        if self._form == "jsonl":
            yield from self._objects(lines)
        elif self._form == "csv":
            separator = separator_of(first[1])
            rows = self._separated(first[0], lines, separator)
            yield from self._cells(rows, "commas" if separator == "," else "semicolons")
        else:
            split = ((k, line.split("\t")) for k, line in lines if line.strip())
            yield from self._cells(split, "tabs")

    def text(self, row: Row) -> object:
        """Returns the text of a row, or a tuple of two."""
        number, values = row
        for name in self._texts:
            text = values[name]
            words = text if isinstance(text, list) else [text]
            if not words or not all(
                isinstance(word, str) and word.strip() for word in words
            ):
                rule = f"have a {name} that is not empty"
                refuse_line(self._path, number, rule, text)
        texts = tuple(values[name] for name in self._texts)
        return texts if len(texts) > 1 else texts[0]

    def label(self, row: Row, multi_label: bool) -> object:
        """Returns the label of a row, or the list of them with `multi_label`."""
        number, values = row
        value = values["label"]
        label = _stripped(value)
        rule = "have a list of labels, strings or integers"
        if not multi_label:
            rule, label = "have a label: a string or an integer", [label]
        elif isinstance(label, str) and self._form != "jsonl":
            label = [part for part in label.split(",") if part.strip()]
        if isinstance(label, list):
            label = [*map(_stripped, label)]
        if not isinstance(label, list) or not all(
            isinstance(part, str | int) and part != "" for part in label
        ):
            refuse_line(self._path, number, rule, value)
        if len({*label}) < len(label):
            refuse_line(self._path, number, "have distinct labels", value)
        return label if multi_label else label[0]

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
            yield number, {name: row[key] for name, key in names.items()}

    def _cells(
        self, rows: Iterable[tuple[int, list[str]]], separator: str
    ) -> Iterator[Row]:
        places: dict[str, int] = {}
        width = 0
        for number, cells in rows:
            if not width:
                width = len(cells)
                places = self._places(number, cells)
                if self.has_header:
                    continue
            if len(cells) != width:
                rule = f"have {width} columns, with {separator} between them"
                refuse_line(self._path, number, rule, cells)
            yield number, {name: cells[place] for name, place in places.items()}

    def _separated(
        self, first: int, lines: Iterable[Line], separator: str
    ) -> Iterator[tuple[int, list[str]]]:
        row: list[str] = []

        def ended() -> Iterator[str]:
            for _, line in lines:
                row.append(line)
                yield f"{line}\n"

        rows = csv.reader(ended(), delimiter=separator, strict=True)
        while True:
            number = first + rows.line_num
            row.clear()
            try:
                cells = next(rows, None)
            except csv.Error as error:
                rule = f"begin a row of CSV, each quotation mark closed ({error})"
                refuse_line(self._path, number, rule, row[0])
            if cells is None:
                return
            if any(map(str.strip, cells)):
                yield number, cells

    def _places(self, number: int, cells: list[str]) -> dict[str, int]:
        """Returns the places of the columns by the first row, perhaps a header."""
        where = f"{self._path}, line {number}"
        names, given = [cell.strip() for cell in cells], [*self._given.values()]
        is_default = not any(column is not None for column in given)
        is_named = any(isinstance(column, str) for column in given)
        self.has_header = is_named or is_header(names)
        if is_named or (is_default and self.has_header):
            hint = f" (or, if that is no header, a number from 0 to {len(cells) - 1})"
            where += "" if is_header(names) else hint
            return named_places(names, self._given, where)
        defaults = {"text": 0, "pair": 1, "label": len(cells) - 1}
        places = {name: defaults[name] for name in self._given}
        for name, place in self._given.items():
            if place is not None and not 0 <= int(place) < len(cells):
                rule = f"from 0 to {len(cells) - 1} in {where}"
                refuse(f"{name}_column", rule, place)
            places[name] = places[name] if place is None else int(place)
        # A label may stand beside texts that are read alone.
        most = len(places) + ("label" not in places)
        if len({*places.values()}) < len(places) or (is_default and len(cells) > most):
            flags = ", ".join(called(f"{name}_column") for name in places)
            rule = f"have a {' and a '.join(places)} alone, or a header that names the "
            rule += f"columns; or give {flags}"
            refuse_line(self._path, number, rule, cells)
        if self._known_labels and is_default and len(cells) == most > len(places):
            self._warn_of_header(where, cells[-1])
        return places

    def _warn_of_header(self, where: str, label: str) -> None:
        """Warns if the first row of texts to classify has another kind of label."""
        if not has_labels(label, self._known_labels):
            warnings.warn(
                f"{where}: the label {label!r} is not known to the model; if that is a "
                f"header, name a column of it with {called('text_column')}",
                stacklevel=5,
            )
