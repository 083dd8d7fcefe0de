"""The command line."""

import argparse
import os
import sys
from collections.abc import Sequence

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
