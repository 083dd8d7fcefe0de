"""What arguments have to be."""

import math
import numbers
import os
import reprlib
from collections.abc import Sequence
from types import NoneType
from typing import Any, NoReturn, TypeGuard


def check_positive(**arguments: float | None) -> None:
    """Raises unless every number is positive and finite. `None` is allowed.

    Raises:
        ValueError: names the first one.
    """
    for name, value in arguments.items():
        if value is not None and not (is_number(value) and value > 0):
            raise ValueError(f"`{name}` must be positive. Received: {name}={value!r}")


def check_at_least(least: int, **arguments: int) -> None:
    """Raises a `ValueError` unless every value is an integer of `least` or more."""
    for name, value in arguments.items():
        if not is_integer(value) or value < least:
            rule = "an integer and at least" if not is_integer(value) else "at least"
            raise ValueError(
                f"`{name}` must be {rule} {least}. Received: {name}={value!r}"
            )


def check_rate(**arguments: float) -> None:
    """Raises a `ValueError` unless every value is a number from 0 to 1."""
    for name, value in arguments.items():
        if not (is_number(value) and 0 <= value <= 1):
            refuse(name, "a number from 0 to 1", value)


def check_type(expected: type | tuple[type, ...], rule: str, **arguments: Any) -> None:
    """Raises a `TypeError` unless every value has a type, which `rule` names."""
    for name, value in arguments.items():
        if not isinstance(value, expected):
            raise TypeError(
                f"`{name}` must be {rule}. Received: {name}={reprlib.repr(value)}"
            )


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
    """Whether a value is an integer of Python or NumPy, and no boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite real number, and no boolean."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        # An integer that is larger than any float.
        return False


def refuse(name: str, rule: str, value: object) -> NoReturn:
    """Raises the `ValueError` of an argument that breaks a rule."""
    raise ValueError(f"`{name}` must be {rule}. Received: {name}={reprlib.repr(value)}")


def check_choice(choices: Sequence[str | None], **arguments: str | None) -> None:
    """Refuses values that are none of the choices.

    Raises:
        ValueError: names the first one.
    """
    for name, value in arguments.items():
        if value not in choices:
            *others, last = map(repr, choices)
            raise ValueError(
                f"`{name}` must be {', '.join(others)} or {last}. "
                f"Received: {name}={value!r}"
            )
