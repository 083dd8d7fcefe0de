"""Options that are declared once, as fields of a dataclass.

Python's functions, the command line, the checks and the documentation read the same
declaration.
"""

import dataclasses
import functools
import inspect
import reprlib
import textwrap
from collections.abc import Callable
from numbers import Real
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeGuard, TypeVar, get_args

from keras_elmo.utils.checks import check_path, check_positive, is_integer, refuse
from keras_elmo.utils.types import StrPath

P = ParamSpec("P")
T = TypeVar("T")
Options = TypeVar("Options")

_ALLOWED: dict[object, tuple[Callable[[object], bool], str]] = {
    bool: (lambda value: isinstance(value, bool), "True or False"),
    int: (is_integer, "an integer"),
    float: (lambda value: _is_real(value), "a number"),
    str: (lambda value: isinstance(value, str), "a string"),
}


@dataclasses.dataclass(frozen=True)
class Option:
    """What is known of an option beside its name, type and default.

    Args:
        help: sentences that explain it. Other options are named in backticks.
        group: heading that it stands under in `--help`.
        choices: the allowed values, if they are few; `None` is allowed, too.
        positive: whether a number has to be greater than 0; else it may be 0.
        most: the greatest number that can be meant.
        flag: its name on the command line; `--name` if `None`; "" if it has none there.
        metavar: what stands for the value in `--help`; `N` if empty.
        parse: converts the text of the command line; by its type if `None`.
        many: whether the command line takes several values.
        fixed: whether it has to stay the same when a run is resumed.
    """

    help: str
    group: str = "options"
    choices: tuple[str, ...] = ()
    positive: bool = True
    most: float = 1e12
    flag: str | None = None
    metavar: str = "N"
    parse: Callable[[str], object] | None = None
    many: bool = False
    fixed: bool = False


def describe(*args: Any, **kwargs: Any) -> dict[str, Option]:
    """Returns the metadata of a field; the arguments are those of `Option`."""
    return {"option": Option(*args, **kwargs)}


def option(default: T, *args: Any, **kwargs: Any) -> T:
    """Returns a field with a default; the other arguments are those of `Option`."""
    field = dataclasses.field(default=default, metadata=describe(*args, **kwargs))
    return field


@dataclasses.dataclass(frozen=True)
class Declared:
    """An option with the name, type and default of its field."""

    name: str
    type: object
    default: object
    option: Option

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING

    @property
    def flag(self) -> str:
        flag = self.option.flag
        return "--" + self.name.replace("_", "-") if flag is None else flag

    @property
    def parse(self) -> Callable[[str], object]:
        """What makes a value of the text on the command line."""
        members = get_args(self.type) if isinstance(self.type, UnionType) else ()
        plain = members[0] if members else self.type
        return self.option.parse or (plain if plain in (bool, float, int) else str)


def declared_options(options: Any) -> list[Declared]:
    """Returns the options of a dataclass, in their order."""
    return [
        Declared(field.name, field.type, field.default, field.metadata["option"])
        for field in dataclasses.fields(options)
        if "option" in field.metadata
    ]


def check_options(options: object) -> None:
    """Checks the values of a dataclass of options by their declarations.

    Raises:
        ValueError: a number is too small or too large, no integer where it has to be
            one, or a value is none of the choices.
    """
    for each in declared_options(options):
        value, choices = getattr(options, each.name), each.option.choices
        may_be_none = each.default is None or NoneType in get_args(each.type)
        if callable(value) or (value is None and may_be_none):
            continue
        _check_type(each, value)
        if _is_real(value):
            _check_range(each, value)
        if choices and isinstance(value, str) and value not in choices:
            raise ValueError(
                f"`{each.name}` must be {' or '.join(map(repr, choices))}. "
                f"Received: {each.name}={value!r}"
            )


def _check_range(declared: Declared, number: float) -> None:
    name, option = declared.name, declared.option
    if number > option.most:
        refuse(name, f"at most {option.most:,.0f}", number)
    if option.positive:
        check_positive(**{name: number})
    elif not number >= 0:
        refuse(name, "at least 0", number)


def _is_real(value: object) -> TypeGuard[float]:
    """Whether a value is a number, perhaps an infinite one or none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_type(each: Declared, value: object) -> None:
    """Raises unless a value has the declared type, if that is a simple one."""
    if each.type == StrPath:
        check_path(**{each.name: value})
        return
    types = get_args(each.type) if isinstance(each.type, UnionType) else (each.type,)
    for expected, (is_allowed, rule) in _ALLOWED.items():
        if expected in types and not is_allowed(value):
            raise TypeError(
                f"`{each.name}` must be {rule}. "
                f"Received: {each.name}={reprlib.repr(value)}"
            )


def takes_options(
    options: Callable[P, Options],
) -> Callable[[Callable[[Options], T]], Callable[P, T]]:
    """Gives a function of a dataclass of options the arguments of the dataclass.

    In its docstring, `{options}` becomes a line for each.
    """
    signature = inspect.signature(options)

    def decorate(function: Callable[[Options], T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                arguments = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            return function(options(*arguments.args, **arguments.kwargs))

        returns = inspect.signature(function).return_annotation
        call.__dict__["__signature__"] = signature.replace(return_annotation=returns)
        parameters = signature.parameters.values()
        call.__annotations__ = {each.name: each.annotation for each in parameters}
        call.__annotations__["return"] = returns
        # Python 3.13 compiles docstrings without their indentation.
        docstring = inspect.cleandoc(function.__doc__ or "")
        call.__doc__ = docstring.replace("{options}", _args(options))
        return call

    return decorate


def _args(options: object) -> str:
    entries = [
        textwrap.fill(
            f"{each.name}: {each.option.help}",
            width=80,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
        )
        for each in declared_options(options)
    ]
    return "\n".join(entries).lstrip()
