"""What arguments have to be."""

import math
import numbers
import reprlib
from collections.abc import Sequence
from typing import NoReturn, TypeGuard


def check_positive(**arguments: float | None) -> None:
    """Refuses numbers that are not greater than 0, or infinite; `None` is none.

    Raises:
        ValueError: names the first one.
    """
    for name, value in arguments.items():
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"`{name}` must be positive. Received: {name}={value}")


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
