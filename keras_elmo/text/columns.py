"""Columns of texts and labels, by the names of a header or by their places."""

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import NamedTuple

from keras_elmo.utils.checks import called, did_you_mean, received, refuse

# What headers call columns, and their plurals.
_NAMES = {
    "text": ("text", "sentence", "document", "review", "comment", "message", "tweet"),
    "pair": ("pair",),
    "label": ("label", "class", "category", "sentiment", "target", "intent"),
}


class Columns(NamedTuple):
    """Names of columns, or places from 0 on in a file without a header.

    By default a header has the names `text`, `pair` and `label`, or usual ones such as
    `Review` and `sentiment`. A file without a header has the text first, the second
    text of a pair after it, and the label last.
    """

    text: str | int | None = None
    pair: str | int | None = None
    label: str | int | None = None

    def fields(self, pairs: bool) -> dict[str, str | int | None]:
        """Returns the columns by field, without `pair` unless there are pairs."""
        return {k: v for k, v in self._asdict().items() if pairs or k != "pair"}


ANY_COLUMNS = Columns()


def _field_of(column: str) -> str | None:
    """Returns the field of `Columns` that a name of a header stands for, if any."""
    column = column.casefold()
    singular = column.removesuffix("s")
    return next((x for x in _NAMES if {column, singular} & {*_NAMES[x]}), None)


def is_header(cells: Sequence[str]) -> bool:
    """Whether cells are names of columns: a field's own, or two usual ones."""
    fields = {_field_of(cell) for cell in cells} - {None}
    is_plain = any(cell.casefold() in Columns._fields for cell in cells)
    return is_plain or len(fields) >= min(2, len(cells))


def named_places(
    names: Sequence[str], fields: Mapping[str, str | int | None], where: str
) -> dict[str, int]:
    """Returns the places of columns in a header, by the fields of `Columns`.

    `fields` maps each wanted field to the column that was named for it, or `None`.
    """
    places: dict[str, int] = {}
    columns = {field: field if x is None else str(x) for field, x in fields.items()}
    # First the columns that are there, then the missing ones, named before guessed.
    order = sorted(fields, key=lambda x: (columns[x] not in names, fields[x] is None))
    for field in order:
        argument, column = f"{field}_column", columns[field]
        if names.count(column) > 1:
            refuse(argument, f"a column that is there once, in {where}", column)
        if column in names:
            places[field] = names.index(column)
            continue
        free = [place for place in range(len(names)) if place not in places.values()]
        usual = [place for place in free if _field_of(names[place]) == field]
        # One usual name, or the last column, whatever it is called.
        guesses = usual if len(usual) == 1 else free
        if fields[field] is not None or len(guesses) != 1:
            # A file without a header has texts there.
            shown = (shorten(name, 40, placeholder="...") for name in names)
            raise ValueError(
                f"{called(argument)} must be one of {', '.join(shown)}, in {where}. "
                f"{received(**{argument: fields[field]})}{did_you_mean(column, names)}"
            )
        places[field] = guesses[0]
    return {field: places[field] for field in fields}
