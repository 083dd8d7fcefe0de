"""Options of subcommands, and the answer to a wrong call."""

import inspect
import os
import sys

import pytest

import keras_elmo
from keras_elmo.cli import parsing
from keras_elmo.cli.parsing import COMMANDS
from tests.helpers.command_line import command


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_explained(name):
    """The help has the names that the user types, never Python's."""
    status, out, err = command(*name.split(), "--help")
    assert (status, err) == (0, "")
    assert "`" not in out
    # No default is told that says nothing.
    assert "None" not in out and "False" not in out
    assert f"\nexample:\n  keras-elmo {name} " in out
    for option in COMMANDS[name].options:
        assert option.flag in out


@pytest.mark.parametrize(
    ("name", "model"), [("tag", "Tagger"), ("classify", "TextClassifier")]
)
def test_defaults_of_training(name, model):
    """The help tells those that Python has."""
    model = getattr(keras_elmo, model)
    has = {
        parameter.name: parameter.default
        for function in (model.__init__, model.fit)
        for parameter in inspect.signature(function).parameters.values()
    }
    options = COMMANDS[f"{name} train"].options
    told = {option.name: option.default for option in options if option.type is int}
    told |= {option.name: option.default for option in options if option.type is float}
    assert told.pop("seed") == 0
    assert {"lstm_units", "dropout", "epochs", "batch_size", "patience"} <= set(told)
    assert ("hidden" in told) == ("hidden" in has)
    assert told == {name: has[name] for name in told}
    help = " ".join(command(name, "train", "--help")[1].split())
    for default in told.values():
        assert f"(default: {default})" in help


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["emebd"], "no command emebd; did you mean embed?"),
        (["learn"], "no command learn; there are classify, tag, prepare, p"),
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
        # Not even if only one option begins so.
        (["publish", "a", "b", "--privat"], "no option --privat; did you mean --priva"),
        (["embed", "--to"], "no option --to; did you mean --tokenizer?"),
        (["pretrain", "--max"], "mean --max-distinct or --max-tokens?"),
        (["serve", "--model", "a", "--frob", "1"], "serve: error: unrecognized argum"),
    ],
    ids=str,
)
def test_wrong_call(arguments, said):
    """It is answered in two lines; a misspelt command is guessed."""
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 2


@pytest.mark.parametrize("setting", [None, "0"])
def test_onednn_is_on_before_keras_is_imported(monkeypatch, setting):
    """A processor with only AVX2 gets oneDNN, too, unless a user says no."""
    seen = []
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
    if setting is not None:
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", setting)
    monkeypatch.setattr(
        parsing,
        "import_extra",
        lambda *_: seen.append(os.environ["TF_ENABLE_ONEDNN_OPTS"]),
    )
    parsing.import_keras()
    assert seen == [setting or "1"]
