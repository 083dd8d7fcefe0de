"""The command line, `keras-elmo`."""

import contextlib
import contextvars
import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from time import monotonic

import keras_elmo
from keras_elmo.cli import classify as _classify  # noqa: F401  (declares commands)
from keras_elmo.cli import commands as _commands  # noqa: F401
from keras_elmo.cli import conversion as _conversion  # noqa: F401
from keras_elmo.cli import servers as _servers  # noqa: F401
from keras_elmo.cli import tag as _tag  # noqa: F401
from keras_elmo.cli import words as _words  # noqa: F401
from keras_elmo.cli.parsing import (
    Arguments,
    Command,
    Parser,
    add_commands,
    check_command,
)
from keras_elmo.cli.process import EndingSignals, standard_streams
from keras_elmo.text.lines import READ_ANYTHING
from keras_elmo.utils.checks import FLAGS
from keras_elmo.utils.progress import BEGAN

_BAD_INPUT = 2
# Added to the number of the signal that ended a command.
_SIGNALLED = 128
_BROKEN_PIPE = 141
_EXPECTED = (ValueError, TypeError, RuntimeError, OSError, ImportError, MemoryError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand.

    Args:
        arguments: words after the program's name; by default, the process's own.

    Returns:
        The exit status: 0, 2 after bad input, 130 after Ctrl-C, 143 after SIGTERM, 129
        after SIGHUP, 141 if the reader of the output has gone.
    """
    with standard_streams(), EndingSignals() as signals:
        return _run(sys.argv[1:] if arguments is None else arguments, signals)


def _run(words: Sequence[str], signals: EndingSignals) -> int:
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:
        importlib.import_module("argcomplete").autocomplete(parser)
    check_command(parser, words)
    parsed, unknown = parser.parse_known_args(words)
    arguments = vars(parsed)
    command, refuse = arguments.pop("command"), arguments.pop("refuse")
    if unknown:
        # The message has the usage of the subcommand.
        refuse(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        with _plain_warnings():
            # Settings of a command, such as --force, end with it.
            contextvars.copy_context().run(_run_command, command, arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        _say(str(interrupt) or "interrupted")
        return _SIGNALLED + signals.number
    except BrokenPipeError:
        # The reader, such as `head`, has read enough.
        return _BROKEN_PIPE
    except Exception as error:
        if os.environ.get("KERAS_ELMO_TRACEBACK") or not _is_expected(error):
            raise
        _say(f"error: {_message(error)}")
        return _BAD_INPUT
    return 0


def _run_command(command: Command, arguments: Arguments) -> None:
    FLAGS.set(command.flags)
    BEGAN.set(monotonic())
    READ_ANYTHING.set(arguments.pop("force", False))
    for option in command.options:
        if option.check is not None and option.name in arguments:
            option.check(option.name, arguments[option.name])
    command.run(arguments)


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Prints each warning once, as a line without its place in the code."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if (line := f"warning: {message}") not in shown:
            shown.add(line)
            _say(line)

    # The block's filters and this function end with it.
    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _say(message: str) -> None:
    """Prints a message to standard error, if it is open."""
    with contextlib.suppress(OSError):
        print(f"keras-elmo: {message}", file=sys.stderr)


def _parser() -> Parser:
    parser = Parser(
        prog="keras-elmo",
        description="Pretrains ELMo models, exports and serves them, embeds text.",
    )
    version = f"keras-elmo {keras_elmo.__version__}"
    parser.add_argument("--version", action="version", version=version)
    add_commands(parser)
    return parser


def _is_expected(error: Exception) -> bool:
    # TensorFlow has classes of its own for a full disk or memory.
    names = {base.__name__ for base in type(error).__mro__}
    return isinstance(error, _EXPECTED) or "OpError" in names


def _is_anywhere() -> bool:
    """Whether the working folder still exists."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _message(error: Exception) -> str:
    message = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        # The number of the error is left out.
        message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, FileNotFoundError) and not _is_anywhere():
        message = "the working folder, which names of files begin in, is gone"
    # A library, or the name of a file, may have put line ends into it.
    return " ".join(message.split()) or type(error).__name__
