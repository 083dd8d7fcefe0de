"""Declares an option once: for Python, the command line, checks and documentation.

The options of a function are the fields of a dataclass. An option that only a command
takes is an `Option` among its arguments.
"""

import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable
from numbers import Real
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeGuard, TypeVar, get_args

from keras_elmo.utils.checks import (
    check_path,
    check_positive,
    is_integer,
    refuse,
)
from keras_elmo.utils.types import StrPath

P = ParamSpec("P")
T = TypeVar("T")
Options = TypeVar("Options")
# Stands for the default of a field that has none.
REQUIRED: Any = dataclasses.MISSING


@dataclasses.dataclass(frozen=True)
class Option:
    """Help text, checks and command-line settings of an option.

    Args:
        name: name of the field or argument in Python.
        help: sentences that explain it. `{steps}` becomes the name of another option:
            `steps` in Python, --steps on the command line.
        metavar: placeholder for the value in `--help`.
        in_python: further sentences, only for Python.
        type: type of the value; by default, the type of `default`, or a string.
        default: value of an option that is left out.
        required: whether the command line requires it.
        group: heading in `--help`.
        one_of: names a set of options that exclude each other. If they are required,
            one of them has to be there.
        choices: allowed values, besides `None`.
        positive: whether a number must be greater than 0; else it may be 0.
        most: upper bound on a number.
        flag: name on the command line: "--" for `--name`, "" for none, a word without
            dashes for a positional argument.
        parse: converts the text of the command line; by default, `type` does.
        many: whether the command line takes several values.
        fixed: whether a resumed run must have the same value.
        check: raises if a command cannot use a value; gets the name and the value.
            Checks run in the order of the declarations, before Keras is imported.
    """

    name: str
    help: str
    metavar: str = "N"
    _: dataclasses.KW_ONLY
    in_python: str = ""
    type: object = None
    default: object = None
    required: bool = False
    group: str = "options"
    one_of: str = ""
    choices: tuple[str, ...] = ()
    positive: bool = True
    most: float = 1e12
    flag: str = "--"
    parse: Callable[[str], object] | None = None
    many: bool = False
    fixed: bool = False
    check: Callable[[str, Any], object] | None = None

    def __post_init__(self) -> None:
        if self.type is None:
            kind = str if self.default is None else type(self.default)
            object.__setattr__(self, "type", kind)
        if self.name and self.flag == "--":
            flag = "--" + self.name.replace("_", "-")
            object.__setattr__(self, "flag", flag)

    @property
    def convert(self) -> Callable[[str], object]:
        """Returns a function from the text of the command line to a value."""
        members = get_args(self.type) if isinstance(self.type, UnionType) else ()
        plain = members[0] if members else self.type
        return self.parse or (plain if plain in (bool, float, int) else str)


def option(default: T, help: str, group: str = "options", **settings: Any) -> T:
    """Returns a dataclass field with a default or `REQUIRED`; see `Option`."""
    settings = {"required": default is REQUIRED, **settings}
    metadata = {"option": Option("", help, group=group, **settings)}
    field = dataclasses.field(default=default, metadata=metadata)
    return field


def options_of(options: Any) -> dict[str, Option]:
    """Returns the options of a dataclass by their names, in order."""
    return {
        field.name: dataclasses.replace(
            field.metadata["option"],
            name=field.name,
            type=field.type,
            default=field.default,
        )
        for field in dataclasses.fields(options)
        if "option" in field.metadata
    }


def python_help(options: Any) -> dict[str, str]:
    """Returns the help texts of a dataclass for readers of Python."""
    declared = options_of(options)
    names = {name: f"`{name}`" for name in declared}
    return {
        name: f"{option.help.format_map(names)} {option.in_python}".rstrip()
        for name, option in declared.items()
    }


def check_options(options: object) -> None:
    """Checks the values of a dataclass of options by their declarations."""
    for name, declared in options_of(options).items():
        value, choices = getattr(options, name), declared.choices
        may_be_none = declared.default is None or NoneType in get_args(declared.type)
        if callable(value) or (value is None and may_be_none):
            continue
        _check_type(declared, value)
        if _is_real(value) and value > declared.most:
            refuse(name, f"at most {declared.most:,.0f}", value)
        if _is_real(value) and declared.positive:
            check_positive(**{name: value})
        elif _is_real(value) and not value >= 0:
            refuse(name, "at least 0", value)
        if choices and isinstance(value, str) and value not in choices:
            refuse(name, " or ".join(map(repr, choices)), value)


def _is_real(value: object) -> TypeGuard[float]:
    """Whether a value is a number, perhaps infinite or NaN."""
    return isinstance(value, Real) and not isinstance(value, bool)


_ALLOWED: dict[object, tuple[Callable[[object], bool], str]] = {
    bool: (lambda value: isinstance(value, bool), "True or False"),
    int: (is_integer, "an integer"),
    float: (_is_real, "a number"),
    str: (lambda value: isinstance(value, str), "a string"),
}


def _check_type(declared: Option, value: object) -> None:
    """Raises unless a value has the declared type, if it is a simple one."""
    name, union = declared.name, isinstance(declared.type, UnionType)
    if declared.type == StrPath:
        check_path(**{name: value})
        return
    types = get_args(declared.type) if union else (declared.type,)
    for expected, (is_allowed, rule) in _ALLOWED.items():
        if expected in types and not is_allowed(value):
            refuse(name, rule, value, TypeError)


def takes_options(
    options: Callable[P, Options],
) -> Callable[[Callable[[Options], T]], Callable[P, T]]:
    """Lets a function that takes a dataclass take the dataclass's arguments instead.

    The help texts replace `{options}` in its docstring.
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
        call.__annotations__ = {
            parameter.name: parameter.annotation for parameter in parameters
        }
        call.__annotations__["return"] = returns
        # Python 3.13 compiles docstrings without their indentation.
        docstring = inspect.cleandoc(function.__doc__ or "")
        call.__doc__ = docstring.replace("{options}", _args(options))
        return call

    return decorate


def _args(options: object) -> str:
    entries = [
        textwrap.fill(
            f"{name}: {help}",
            width=80,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
        )
        for name, help in python_help(options).items()
    ]
    return "\n".join(entries).lstrip()
