"""Checks arguments, and names them in messages as their reader does."""

import math
import numbers
import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType, NoneType
from typing import Any, NoReturn, TypeGuard

# Names of arguments on the command line, by their names in Python.
FLAGS: ContextVar[Mapping[str, str]] = ContextVar("FLAGS", default=MappingProxyType({}))
# No model has more. Larger sizes would exhaust the memory.
MOST_LAYERS = 100
MOST_UNITS = 1 << 20
_SHORT = reprlib.Repr()
# Names of files are shown whole.
_SHORT.maxstring = _SHORT.maxother = 300


def called(argument: str) -> str:
    """Returns what the reader calls an argument: "`steps`", or "--steps"."""
    return FLAGS.get().get(argument, f"`{argument}`")


def received(**arguments: object) -> str:
    """Returns the end of an error: "Received: steps=0", or "Received: --steps 0"."""
    return "Received: " + ", ".join(map(_as_written, arguments, arguments.values()))


def _as_written(name: str, value: object) -> str:
    flag = FLAGS.get().get(name)
    if flag is None:
        return f"{name}={_SHORT.repr(value)}"
    if value is None:
        return f"no {flag}"
    return flag if value is True else f"{flag} {_SHORT.repr(value)}"


def refuse(
    name: str, rule: str, value: object, error: type[Exception] = ValueError
) -> NoReturn:
    """Raises the `ValueError` for an argument that breaks a rule."""
    raise error(f"{called(name)} must be {rule}. {received(**{name: value})}")


def check_positive(**arguments: float | None) -> None:
    """Raises a `ValueError` unless every number is positive and finite, or `None`."""
    for name, value in arguments.items():
        if value is not None and not (is_number(value) and value > 0):
            refuse(name, "positive", value)


def check_at_least(least: int, **arguments: int) -> None:
    """Raises a `ValueError` unless every value is an integer of `least` or more."""
    for name, value in arguments.items():
        if not is_integer(value):
            refuse(name, f"an integer and at least {least}", value)
        if value < least:
            refuse(name, f"at least {least}", value)


def check_rate(**arguments: float) -> None:
    """Raises a `ValueError` unless every value is a number from 0 to 1."""
    for name, value in arguments.items():
        if not (is_number(value) and 0 <= value <= 1):
            refuse(name, "a number from 0 to 1", value)


def check_type(expected: type | tuple[type, ...], rule: str, **arguments: Any) -> None:
    """Raises a `TypeError` unless every value has a type, which `rule` names."""
    for name, value in arguments.items():
        if not isinstance(value, expected):
            refuse(name, rule, value, TypeError)


def check_boolean(**arguments: Any) -> None:
    """Raises a `TypeError` unless every value is a boolean."""
    check_type(bool, "True or False", **arguments)


def check_path(**arguments: Any) -> None:
    """Raises a `TypeError` unless every value is a path."""
    check_type((str, os.PathLike), "a path", **arguments)


def check_optional_path(**arguments: Any) -> None:
    """Raises a `TypeError` unless every value is a path or `None`."""
    check_type((str, os.PathLike, NoneType), "a path or None", **arguments)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy, but not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite real number, but not a boolean."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        # An integer larger than any float.
        return False


def check_choice(choices: Sequence[str | None], **arguments: str | None) -> None:
    """Raises a `ValueError` unless every value is one of the choices."""
    for name, value in arguments.items():
        if value not in choices:
            *others, last = map(repr, choices)
            refuse(name, f"{', '.join(others)} or {last}", value)


def checked_filters(
    filters: object, least: int = 1, widest: int = MOST_UNITS
) -> tuple[tuple[int, int], ...]:
    """Returns `least` or more convolutions, `(width, number of filters)`, as tuples."""
    if (
        not isinstance(filters, list | tuple)
        or not least <= len(filters) <= MOST_LAYERS
        or not all(
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and all(map(is_integer, pair))
            and 1 <= pair[0] <= widest
            and 1 <= pair[1] <= MOST_UNITS
            for pair in filters
        )
    ):
        rule = f"{least} to {MOST_LAYERS} pairs of integers, (width, count), with "
        rule += f"widths of 1 to {widest:,} and counts of 1 to {MOST_UNITS:,}"
        refuse("filters", rule, filters)
    return tuple((int(width), int(count)) for width, count in filters)


def most_similar(name: str, names: Iterable[str]) -> str | None:
    """Returns the name that is spelt most like another; `None` if none is similar."""
    from difflib import get_close_matches

    spellings = {spelling.casefold(): spelling for spelling in names}
    similar = get_close_matches(name.casefold(), spellings, n=1, cutoff=0.75)
    return spellings[similar[0]] if similar else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns "; did you mean NAME?"; "" if none of the names is similar."""
    similar = most_similar(name, names)
    return f"; did you mean {similar}?" if similar else ""


def counted(count: int, noun: str) -> str:
    """Returns "1 line", or "1,000 lines"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
