"""Options of subcommands, and the answer to a wrong call."""

import pytest

from keras_elmo.cli.parsing import COMMANDS
from tests.helpers.command_line import command


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_explained(name):
    """By the names that the user types, never by those of Python."""
    status, out, err = command(*name.split(), "--help")
    assert (status, err) == (0, "")
    assert "`" not in out
    # No default is told that says nothing.
    assert "None" not in out and "False" not in out
    assert f"\nexample:\n  keras-elmo {name} " in out
    for option in COMMANDS[name].options:
        assert option.flag in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["emebd"], "no command emebd; did you mean embed?"),
        (["learn"], "no command learn; there are classify, tag, pretrain, "),
        (["tag", "tran"], "no command tag tran; did you mean tag train?"),
        (["tag", "learn"], "; there are tag train, tag predict, tag evaluate"),
        (["inspect", "--model", "a"], "usage: keras-elmo inspect MODEL [OPTIONS]; "),
        (["serve", "a"], "usage: keras-elmo serve --model DIR [OPTIONS]; "),
        (["tag"], "usage: keras-elmo tag COMMAND [OPTIONS]; "),
        (["tag"], "the following arguments are required: COMMAND"),
        (["pretrain", "--corpus"], "--corpus: expected at least one argument"),
        (["embed", "--layers", "top"], "--layers: invalid choice: 'top'"),
        (["score"], "are required: --model, --input"),
        (["score", "--modle", "a"], "no option --modle; did you mean --model?"),
        (["pretrain", "--corpsu=a"], "no option --corpsu; did you mean --corpus?"),
        (["serve", "--model", "a", "--frob", "1"], "serve: error: unrecognized argum"),
    ],
    ids=str,
)
def test_wrong_call(arguments, said):
    """It is answered in two lines; a misspelt command is guessed."""
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 2
