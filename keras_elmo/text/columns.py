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

    Without any, a header has the names `text`, `pair` and `label`, or usual ones such
    as `Review` and `sentiment`; a file without one has the text first, the second text
    of a pair after it, and the label last.
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
    names: Sequence[str], given: Mapping[str, str | int | None], where: str
) -> dict[str, int]:
    """Returns the places of columns in a header, by the fields of `Columns`.

    `given` has the column for each field that is wanted, if it is known.
    """
    places: dict[str, int] = {}
    columns = {name: name if x is None else str(x) for name, x in given.items()}
    # Those that are there by their names come first, then those that were asked for.
    order = sorted(given, key=lambda x: (columns[x] not in names, given[x] is None))
    for name in order:
        column = columns[name]
        free = [place for place in range(len(names)) if place not in places.values()]
        usual = [place for place in free if _field_of(names[place]) == name]
        for likely in (usual, free):
            if given[name] is None and column not in names and len(likely) == 1:
                # The last one, whatever it is called.
                column = names[likely[0]]
        if column not in names:
            argument = f"{name}_column"
            # A file without a header has texts there.
            shown = (shorten(name, 40, placeholder="...") for name in names)
            raise ValueError(
                f"{called(argument)} must be one of {', '.join(shown)}, in {where}. "
                f"{received(**{argument: given[name]})}{did_you_mean(column, names)}"
            )
        if names.count(column) > 1:
            rule = f"a column that is there once, in {where}"
            refuse(f"{name}_column", rule, column)
        places[name] = names.index(column)
    return places
