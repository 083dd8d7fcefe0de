"""What the subcommands of `keras-elmo` are made of."""

import argparse
import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Set
from typing import Any, TypeAlias

from keras_elmo.config import TOKENIZERS
from keras_elmo.files.downloads import HUB
from keras_elmo.files.loading import open_model
from keras_elmo.text.lines import READ_ANYTHING, expand_files, read_lines
from keras_elmo.utils.options import declared_options

# The options that are given, by the names of Python's arguments. The others are not
# passed on, so that every default is that of Python.
Given: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[Given], None]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

COMMANDS: list[Callable[[Commands], None]] = []


def command(
    name: str, help: str, example: str, /, **names: str
) -> Callable[[Callable[[argparse.ArgumentParser], Run]], None]:
    """Declares a subcommand by a function that adds its options.

    The function returns what runs the subcommand; its docstring describes it.

    Args:
        name: of the subcommand.
        help: a line for the list of all.
        example: of a call.
        **names: flags by names of Python's arguments, for messages, where an option of
            the subcommand is called otherwise.
    """

    def declare(add_arguments: Callable[[argparse.ArgumentParser], Run]) -> None:
        def add(commands: Commands) -> None:
            parser = commands.add_parser(
                name,
                help=help,
                description=" ".join((add_arguments.__doc__ or "").split()),
                epilog=f"example:\n  keras-elmo {example}",
                formatter_class=_Formatter,
                argument_default=argparse.SUPPRESS,
            )
            run = add_arguments(parser)
            options = {each.dest: each.option_strings for each in parser._actions}
            flags = {dest: strings[-1] for dest, strings in options.items() if strings}
            names_of = {**flags, **names}
            parser.set_defaults(run=run, names=names_of, refuse=parser.error)

        COMMANDS.append(add)

    return declare


class _Formatter(argparse.HelpFormatter):
    """Keeps the lines of an example."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("example:"):
            return text
        return super()._fill_text(text, width, indent)


def add_options(
    parser: argparse.ArgumentParser,
    options: object,
    required: Set[str] = frozenset(),
) -> dict[str, "argparse._ArgumentGroup"]:
    """Adds the options of a dataclass; returns the groups by their headings."""
    declared = [each for each in declared_options(options) if each.flag]
    flags = {each.name: each.flag for each in declared}
    headings = dict.fromkeys(each.option.group for each in declared)
    groups = {heading: parser.add_argument_group(heading) for heading in headings}
    for each in declared:
        # What only Python takes is left out.
        help = re.sub(r" ?In Python[^.]*\.", "", each.option.help).removesuffix(".")
        help = cli_names(help, flags).replace('"', "").replace("%", "%%")
        is_required = each.required or each.name in required
        if not is_required and each.default is not None and each.default is not False:
            help += f" (default: {each.default})"
        settings: Given = {"action": "store_true"}
        if each.parse is not bool:
            settings = {
                "type": each.parse,
                "choices": each.option.choices or None,
                "metavar": None if each.option.choices else each.option.metavar,
                "nargs": "+" if each.option.many else None,
            }
        groups[each.option.group].add_argument(
            each.flag,
            dest=each.name,
            required=is_required,
            help=help,
            **settings,
        )
    return groups


def take_options(options: Callable[..., Any], given: Given) -> Any:
    """Takes the options of a dataclass out of what was given, and returns them."""
    names = {each.name for each in declared_options(options)} & given.keys()
    return options(**{name: given.pop(name) for name in names})


def add_model(
    parser: argparse.ArgumentParser,
    dest: str,
    help: str = "A run, imported weights, an exported model",
    required: bool = True,
) -> None:
    """Adds --model."""
    help += ", a shipped name such as elmo-en, a .zip, or hf://OWNER/NAME"
    parser.add_argument(
        "--model", required=required, metavar="DIR", dest=dest, help=help
    )


def add_tokenizer(parser: argparse.ArgumentParser) -> None:
    """Adds --tokenizer, for commands that read text."""
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        help="How text is split into words: whitespace keeps text that is tokenized "
        "already. If not given, as the model's text was",
    )


def add_out(
    parser: argparse.ArgumentParser, dest: str, metavar: str, help: str
) -> None:
    """Adds --out."""
    parser.add_argument("--out", required=True, metavar=metavar, dest=dest, help=help)


def utf8(argument: str) -> str:
    """Returns an argument that is text; like every text it is UTF-8.

    In a locale of another encoding, Python has read it as that.

    Raises:
        UnicodeDecodeError: it is not.
    """
    return os.fsencode(argument).decode()


def cli_names(message: str, names: Mapping[str, str]) -> str:
    """Returns a message that names options instead of Python's arguments."""
    expected, received, values = message.partition(" Received: ")
    expected = _renamed(r"`(\w+)`", expected, names, "{}")
    expected = expected.replace("must be None", "must not be given")
    expected = expected.replace("or be None", "or not be given")
    values = _renamed(r"\b(\w+)=", values, names, "{} ")
    # A flag has no value; an option that is not given has none, either.
    values = re.sub(r"(--[\w-]+) (True|None)\b", _as_typed, values)
    return expected + received + values


def _as_typed(found: re.Match[str]) -> str:
    return found[1] if found[2] == "True" else f"no {found[1]}"


def _renamed(pattern: str, text: str, names: Mapping[str, str], form: str) -> str:
    def renamed(found: re.Match[str]) -> str:
        return form.format(names[found[1]]) if found[1] in names else found[0]

    return re.sub(pattern, renamed, text)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Adds --force, which `check_text` takes."""
    help = "Read files that do not look like UTF-8 text"
    parser.add_argument("--force", action="store_true", help=help)


def check_text(given: Given, *names: str) -> None:
    """Checks that files of text are there, and unless forced that they are text."""
    # Also where they are read.
    READ_ANYTHING.set(given.pop("force", False))
    for name in names:
        # A dash stands for standard input.
        if given.get(name, "-") != "-":
            expand_files(given[name])


def check_not_empty(files: list[str]) -> None:
    """Raises `ValueError` if there is no line of text, blank ones left out."""
    if next(read_lines(expand_files(files)), None) is None:
        raise ValueError(f"there is no text in {', '.join(files)}")


def check_model(name: str) -> None:
    """Checks that a model is there before Keras is imported, which takes seconds.

    Those that have to be unpacked or downloaded are left to what loads them.
    """
    if not name.startswith(HUB) and not name.endswith(".zip"):
        open_model(name).check()


def import_keras(model: str = "") -> None:
    """Imports Keras without the start-up notes of TensorFlow, unless a model is ONNX.

    They come from C++ code that writes to standard error before it reads any log
    level, and would stand above every error message.
    """
    if "keras" in sys.modules or model.endswith(".onnx"):
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    standard_error = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        # An exception is printed after file descriptor 2 is back.
        importlib.import_module("keras")
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(nothing)
