"""An option is declared once."""

import dataclasses
import inspect

import pytest

from keras_elmo.utils.checks import FLAGS, received
from keras_elmo.utils.options import (
    REQUIRED,
    check_options,
    option,
    options_of,
    python_help,
    takes_options,
)


@dataclasses.dataclass(frozen=True)
class Colours:
    path: str = option(REQUIRED, "Where to paint, in {colour}.")
    _: dataclasses.KW_ONLY
    colour: str | None = option(None, "Which colour.", choices=("red", "blue"))
    coats: int = option(2, "How many.", in_python="As an integer.", flag="--layers")
    thinner: float | None = option(None, "Share of it.", positive=False, most=1)
    wet: bool = option(False, "Whether to paint when it rains.", flag="")

    def __post_init__(self):
        check_options(self)


@takes_options(Colours)
def paint(options: Colours) -> str:
    """Paints.

    Args:
        {options}

    Returns:
        What was painted.
    """
    return f"{options.path} {options.colour} {options.coats}"


def test_function_takes_the_fields():
    assert paint("wall", coats=1) == "wall None 1"
    assert str(inspect.signature(paint)) == (
        "(path: str, *, colour: str | None = None, coats: int = 2, "
        "thinner: float | None = None, wet: bool = False) -> str"
    )
    assert (
        paint.__doc__
        and "path: Where to paint, in `colour`.\n    colour: " in paint.__doc__
    )
    assert paint.__name__ == "paint" and paint.__annotations__["coats"] is int
    with pytest.raises(TypeError, match="shade"):
        paint("wall", shade=1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"coats": 0}, "`coats` must be positive. Received: coats=0"),
        ({"coats": -1}, "`coats` must be positive. Received: coats=-1"),
        ({"coats": 10**13}, "`coats` must be at most 1,000,000,000,000. Received"),
        ({"coats": 10**400}, "`coats` must be at most 1,000,000,000,000. Received"),
        ({"coats": 1.5}, "`coats` must be an integer. Received: coats=1.5"),
        ({"coats": "2"}, "`coats` must be an integer. Received: coats='2'"),
        ({"coats": True}, "`coats` must be an integer. Received: coats=True"),
        ({"thinner": -0.1}, "`thinner` must be at least 0. Received: thinner=-0.1"),
        ({"thinner": 1.5}, "`thinner` must be at most 1. Received: thinner=1.5"),
        ({"thinner": float("nan")}, "`thinner` must be at least 0. Received"),
        ({"colour": "green"}, "`colour` must be 'red' or 'blue'. Received: colour='gr"),
    ],
)
def test_values_are_checked(values, said):
    with pytest.raises((TypeError, ValueError), match=said):
        paint("wall", **values)


def test_names_of_the_reader():
    """Errors and help texts have the names of Python or of the command line."""
    assert python_help(Colours)["coats"] == "How many. As an integer."
    token = FLAGS.set({"coats": "--layers", "wet": "--wet"})
    try:
        with pytest.raises(ValueError, match="^--layers must be .* --layers 0$"):
            paint("wall", coats=0)
        assert received(coats=None, wet=True) == "Received: no --layers, --wet"
    finally:
        FLAGS.reset(token)


def test_flags_and_types():
    options = options_of(Colours)
    flags = {name: each.flag for name, each in options.items()}
    assert flags == {
        "path": "--path",
        "colour": "--colour",
        "coats": "--layers",
        "thinner": "--thinner",
        "wet": "",
    }
    assert [each.convert for each in options.values()] == [
        *(str, str, int, float, bool)
    ]
