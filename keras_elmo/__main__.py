"""The command line."""

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence

from keras_elmo.commands import (
    embed,
    evaluate,
    export,
    import_published,
    pretrain,
    serve,
)
from keras_elmo.commands.option_names import with_options

_BAD_INPUT = 2
_INTERRUPTED = 130
_EXPECTED = (ValueError, TypeError, RuntimeError, OSError, ImportError, MemoryError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand.

    Args:
        arguments: without the program's name; those of the process if `None`.

    Returns:
        The exit status: 0, 2 after bad input, 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    try:
        _import_keras()
        options.run(options)
    except KeyboardInterrupt as interrupt:
        print(f"keras-elmo: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return _INTERRUPTED
    except Exception as error:
        if os.environ.get("KERAS_ELMO_TRACEBACK") or not _is_expected(error):
            raise
        message = with_options(_message(error), options)
        print(f"keras-elmo: error: {message}", file=sys.stderr)
        return _BAD_INPUT
    return 0


def _import_keras() -> None:
    """Imports Keras without the start-up notes of TensorFlow.

    They come from C++ code that writes to standard error before it reads any log
    level, and would stand above every error message.
    """
    if "keras" not in sys.modules:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with _without_standard_error():
            importlib.import_module("keras")


@contextlib.contextmanager
def _without_standard_error() -> Iterator[None]:
    """Silences file descriptor 2; exceptions are printed when this is over."""
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


def _is_expected(error: Exception) -> bool:
    # TensorFlow's, on a full disk or without memory, are of no class of Python's.
    names = {base.__name__ for base in type(error).__mro__}
    return isinstance(error, _EXPECTED) or "OpError" in names


def _message(error: BaseException) -> str:
    message = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        # Without the number of the error.
        message = f"{error.filename}: {error.strerror}"
    # One line, whatever a library or the name of a file put into it.
    return " ".join(message.split()) or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="keras-elmo",
        description="Contextual word vectors: pretrain them, export them, embed text.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (pretrain, evaluate, export, import_published, embed, serve):
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
