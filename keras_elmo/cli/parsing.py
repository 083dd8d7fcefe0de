"""Declares and parses subcommands and their options, and checks their files."""

import argparse
import contextlib
import dataclasses
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

from keras_elmo.cli.process import STANDARD
from keras_elmo.embedding.embed_options import EmbedOptions
from keras_elmo.files.downloads import HUB
from keras_elmo.files.finding import needs_no_keras
from keras_elmo.files.loading import open_model
from keras_elmo.text.lines import expand_files, prepared_folder, read_lines
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import did_you_mean
from keras_elmo.utils.files import check_free
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.options import Option, options_of

# The options on a command line, by the names of arguments in Python. Options that are
# left out are not passed on, because Python has the defaults.
Arguments: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[Arguments], None]
T = TypeVar("T")


class Command(NamedTuple):
    """A subcommand; `flags` maps arguments in Python to what its user types."""

    help: str
    example: str
    options: tuple[Option, ...]
    flags: dict[str, str]
    run: Run


# Subcommands by their names; "tag train" belongs to the group "tag".
COMMANDS: dict[str, Command] = {}
# Lines for the list of commands, by the names of groups.
GROUPS: dict[str, str] = {}


def command(
    name: str, help: str, example: str, /, *options: Option, **names: str
) -> Callable[[Run], Run]:
    """Declares a function as a subcommand; its docstring describes it.

    The function gets the options on the command line. `names` maps more arguments in
    Python to their names in messages.
    """
    flags = {option.name: option.flag for option in options if option.flag}

    def declare(run: Run) -> Run:
        COMMANDS[name] = Command(help, example, options, flags | names, run)
        return run

    return declare


# === The parser ===


class Parser(argparse.ArgumentParser):
    """Answers a wrong call in two lines, and accepts only whole names of options."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False)

    # argparse declares overloads, for namespaces of any class.
    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parses a command line after a look for misspelt options.

        Otherwise the error would be that a required option is missing. argparse has an
        overload for each type of namespace, of which the commands use one.
        """
        flags = self._option_string_actions
        for word in args or ():
            name = word.partition("=")[0]
            is_flag = name.startswith("--") and " " not in name and len(name) > 2
            if is_flag and name not in flags:
                longer = [flag for flag in flags if flag.startswith(name)]
                hint = f"; did you mean {' or '.join(longer)}?" if longer else ""
                if hint := hint or did_you_mean(name, flags):
                    self.error(f"no option {name}{hint}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        required = [
            " ".join([*action.option_strings[:1], str(action.metavar)])
            for action in self._actions
            if action.required
        ]
        call = " ".join([self.prog, *required, "[OPTIONS]"])
        usage = f"usage: {call}; {self.prog} --help lists them"
        self.exit(2, f"{usage}\n{self.prog}: error: {message}\n")


def add_commands(parser: Parser) -> None:
    """Adds the declared subcommands."""
    parsers: dict[str, argparse._SubParsersAction[Any]] = {}

    def add_group(group: str) -> "argparse._SubParsersAction[Any]":
        if group not in parsers:
            above = parser
            if group:
                help = GROUPS[group]
                above = add_group("").add_parser(group, help=help, description=help)
            parsers[group] = above.add_subparsers(
                title="commands", required=True, metavar="COMMAND"
            )
        return parsers[group]

    for name, command in COMMANDS.items():
        group, _, last = name.rpartition(" ")
        subparser = add_group(group).add_parser(
            last,
            help=command.help,
            description=textwrap.fill(
                " ".join((command.run.__doc__ or "").split()), 78
            ),
            epilog=f"example:\n  keras-elmo {command.example}",
            # Keeps the lines of the example.
            formatter_class=argparse.RawDescriptionHelpFormatter,
            argument_default=argparse.SUPPRESS,
        )
        subparser.set_defaults(command=command, refuse=subparser.error)
        groups: dict[str, Any] = {"options": subparser}
        for option in filter(lambda option: option.flag, command.options):
            if option.group not in groups:
                groups[option.group] = subparser.add_argument_group(option.group)
            group = groups[option.group]
            if option.one_of:
                if option.one_of not in groups:
                    groups[option.one_of] = group.add_mutually_exclusive_group(
                        required=option.required
                    )
                group = groups[option.one_of]
            _add_option(group, option, command.flags)


def check_command(parser: Parser, words: Sequence[str]) -> None:
    """Ends the process with a hint unless words begin with a command's name."""
    name = ""
    for word in words[:2]:
        if word.startswith("-"):
            return
        name = f"{name} {word}".lstrip()
        if name in COMMANDS:
            return
        if name not in GROUPS:
            group, names = name.rpartition(" ")[0], [*GROUPS, *COMMANDS]
            # In the same group, or outside all groups.
            names = [known for known in names if known.rpartition(" ")[0] == group]
            hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            parser.error(f"no command {name}{hint}")


def _add_option(group: Any, option: Option, flags: dict[str, str]) -> None:
    required = option.required and not option.one_of
    help = option.help.format_map(flags).removesuffix(".").replace("%", "%%")
    if not (required or option.default is None or isinstance(option.default, bool)):
        help += f" (default: {option.default})"
    settings: Arguments = {
        "type": option.convert,
        "choices": option.choices or None,
        "metavar": None if option.choices else option.metavar,
        "nargs": "+" if option.many else None,
    }
    if option.convert is bool:
        settings = {"action": "store_false" if option.default else "store_true"}
    if option.flag.startswith("-"):
        settings |= {"dest": option.name, "required": required}
        group.add_argument(option.flag, help=help, **settings)
    else:
        settings |= {"metavar": option.flag, "nargs": None if required else "?"}
        group.add_argument(option.name, help=help, **settings)


# === Checks of options before Keras is imported, which takes seconds ===


def check_model(argument: str, models: str | list[str]) -> None:
    """Checks that models exist, unless they have to be unpacked or downloaded."""
    for model in [models] if isinstance(models, str) else models:
        if not model.startswith(HUB) and not model.endswith(".zip"):
            open_model(model, argument).check()


def check_text(argument: str, files: str | list[str]) -> None:
    """Checks that files exist, and that they are text unless --force is given."""
    if files != STANDARD:
        expand_files(files)


def check_not_blank(argument: str, files: list[str]) -> None:
    """Checks that text files have a line that is not blank."""
    if next(read_lines(expand_files(files)), None) is None:
        raise ValueError(f"there is no text in {', '.join(files)}")


def check_corpus(argument: str, files: str | list[str]) -> None:
    """Checks text files or a prepared text."""
    if (folder := prepared_folder(files)) is None:
        expand_files(files)
        return
    # The module imports NumPy.
    from keras_elmo.text.prepared import PreparedText

    PreparedText(folder)


def check_new(argument: str, path: str) -> None:
    """Checks that a file or folder can be written, unless it is standard output."""
    if path != STANDARD:
        check_free(path)


# === Options that several subcommands take ===


def option_of(options: type, name: str, **settings: Any) -> Option:
    """Returns one option of a dataclass."""
    return dataclasses.replace(options_of(options)[name], group="options", **settings)


_FURTHER = "a shipped name such as elmo-en, a .zip, or hf://OWNER/NAME"
MODEL = Option(
    "model",
    f"A run, imported weights, an exported model, {_FURTHER}",
    "DIR",
    required=True,
    check=check_model,
)
LANGUAGE_MODEL = dataclasses.replace(
    MODEL, help=f"A run, a model exported with --language-model, {_FURTHER}"
)
CORPUS = option_of(TrainingOptions, "corpus", check=check_not_blank)
INPUT = Option(
    "input",
    "The text, UTF-8, one sentence per line; - for standard input",
    "FILE",
    required=True,
    check=check_text,
)
OUT = Option(
    "out",
    "The file to write; if not given, or -, standard output",
    "FILE",
    check=check_new,
)
TOKENIZER = option_of(EmbedOptions, "tokenizer")
FORCE = Option("force", "Read files that do not look like UTF-8 text", type=bool)


def take_options(options: Callable[..., T], arguments: Arguments) -> T:
    """Moves the options of a dataclass out of the arguments."""
    names = options_of(options).keys() & arguments.keys()
    return options(**{name: arguments.pop(name) for name in names})


def import_keras(model: str = "") -> None:
    """Imports Keras without TensorFlow's start-up notes, if a model needs it.

    Also turns on oneDNN, which TensorFlow does only on processors with AVX-512 VNNI.
    Products are faster with it on processors with AVX2, too.
    """
    if "keras" in sys.modules or needs_no_keras(model):
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    with no_notes():
        import_extra("keras", "A model that is no .onnx or .tflite file", "")


@contextlib.contextmanager
def no_notes() -> Iterator[None]:
    """Hides what runtimes write to standard error while they start.

    Their C++ code writes there before it reads a log level, above every error message.
    Exceptions are printed after the block.
    """
    sys.stderr.flush()
    standard_error = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(nothing)
