"""Runs the command line in this process, and looks at what it says and leaves."""

import contextlib
import io
import re

from keras_elmo.cli import main


def command(*arguments):
    """Runs a subcommand here; returns its status, and what it has said where."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as left:
            # argparse leaves the process itself.
            status = left.code
    return status, out.getvalue(), err.getvalue()


def assert_one_line(status, out, err, *said):
    assert (status, out) == (2, "")
    assert re.fullmatch(r"keras-elmo: error: [^\n]+\n", err), err
    for text in said:
        assert text in err


def names(folder):
    return sorted(path.name for path in folder.iterdir())
