"""What every subcommand has: help, errors of its arguments, and their exit status."""

import re
import warnings

import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import cli
from keras_elmo.cli import commands, main
from keras_elmo.cli.parsing import COMMANDS
from tests.helpers.command_line import assert_one_line, command, names
from tests.helpers.fresh_process import run_python
from tests.helpers.runs import write_text


def test_a_warning_is_printed_once(capsys):
    """Its place in the code does not count; the process's own function comes back."""
    own = warnings.showwarning
    with cli._plain_warnings():
        warnings.simplefilter("always")
        for text in ("odd", "odd", "other"):
            warnings.warn(text, stacklevel=1)
    said = "keras-elmo: warning: "
    assert capsys.readouterr() == ("", f"{said}odd\n{said}other\n")
    assert warnings.showwarning is own


def test_version():
    status, out, err = command("--version")
    assert (status, out, err) == (0, f"keras-elmo {keras_elmo.__version__}\n", "")


WITHOUT_KERAS = {
    "--help": 0,
    "pretrain --help": 0,
    "serve --help": 0,
    "pretrain --corpus text.txt --out run --steps many": 2,
    "pretrain --corpus text.txt --out run --steps 0": 2,
    "pretrain --corpus text.txt --out run --preset huge": 2,
    "pretrain --corpus nowhere.txt --out run": 2,
    "evaluate --model run --corpus nowhere.txt": 2,
    "prepare --corpus nowhere.txt --out prepared": 2,
    "prepare --corpus nowhere.txt --out prepared --column text": 2,
    "prepare --corpus text.txt --out .": 2,
    "embed --model run --input nowhere.txt --out vectors.hdf5": 2,
    "embed --model run --input picture.png --out vectors.hdf5": 2,
    "pretrain --corpus picture.png --out run": 2,
    "score --model run --input nowhere.txt": 2,
    "nearest --model m --word a --sentence a --corpus nowhere.txt": 2,
    "nearest --model m --word a --sentence a": 2,
    "substitutes --model m --sentence a": 2,
    "export --model run --out .": 2,
    "export --model nowhere --out exported": 2,
    "export --model elmo-en --out text.txt/exported": 2,
    "export --model elmo-en --out elmo.tflite": 2,
    "evaluate --model nowhere --corpus text.txt": 2,
    "embed --model nowhere --input text.txt --out vectors.hdf5": 2,
    "score --model nowhere --input text.txt": 2,
    "score --model elmo-en --input picture.png": 2,
    "nearest --model nowhere --word a --sentence a --corpus text.txt": 2,
    "nearest --model elmo-en --word a --sentence a --corpus text.txt --num 0": 2,
    "substitutes --model nowhere --sentence a --word a": 2,
    "tag --help": 0,
    "tag train --help": 0,
    "tag": 2,
    "tag train --train nowhere.conll --model elmo-en --out ner.keras": 2,
    "tag train --train text.txt --model elmo-en --out ner": 2,
    "tag predict --model nowhere.keras --input text.txt": 2,
    "tag predict --model text.txt --input text.txt": 2,
    "tag evaluate --model text.txt --corpus nowhere.conll": 2,
    "classify train --train nowhere.tsv --model elmo-en --out mood.keras": 2,
    "classify train --train text.txt --model elmo-en --out mood.keras": 2,
    "classify predict --model text.txt --input text.txt": 2,
    "classify evaluate --model text.txt --corpus text.txt": 2,
}


def test_help_and_wrong_arguments_import_no_backend(tmp_path):
    """So they answer in a third of a second."""
    (tmp_path / "picture.png").write_bytes(b"PNG\0")
    (tmp_path / "text.txt").write_text("A line.\n", encoding="utf-8")
    (tmp_path / "mine").write_text("A folder that is not empty.", encoding="utf-8")
    code = f"""
import contextlib, io, os, sys
from keras_elmo import cli
from keras_elmo.cli import commands, main
for arguments in {list(WITHOUT_KERAS)}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(
        io.StringIO()
    ):
        try:
            status = main(arguments.split())
        except SystemExit as left:
            status = left.code
    print(status)
print([name for name in ("keras", "numpy", "tensorflow") if name in sys.modules])
"""
    *statuses, loaded = run_python("-c", code, cwd=tmp_path).splitlines()
    assert dict(zip(WITHOUT_KERAS, map(int, statuses), strict=True)) == WITHOUT_KERAS
    assert loaded == "[]"
    assert names(tmp_path) == ["mine", "picture.png", "text.txt"]


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("keras-elmo pre", {"prepare", "pretrain"}),
        ("keras-elmo pretrain --checkpoint-", {"every", "minutes"}),
        ("keras-elmo embed --layers ", {"all", "mix"}),
    ],
)
def test_shell_completion(line, completed, tmp_path):
    found = tmp_path / "found"
    run_python(
        *("-m", "keras_elmo"),
        cwd=tmp_path,
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=found,
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        COMP_TYPE="9",
    )
    words = found.read_text(encoding="utf-8").split("\v")
    assert {word.strip().removeprefix("--checkpoint-") for word in words} == completed


def test_help_lists_commands():
    status, out, _ = command("--help")
    assert status == 0
    for name in {name.split()[0] for name in COMMANDS}:
        assert re.search(rf"^    {name}\s+\w", out, re.MULTILINE)


def test_tensorflow_error(tmp_path, monkeypatch):
    """On a full disk, say; its errors are of no class of Python's."""

    def full(*arguments):
        raise tf.errors.ResourceExhaustedError(None, None, "no space")

    monkeypatch.setattr("keras_elmo.files.saved_model_format.read_language_model", full)
    corpus = tmp_path / "text.txt"
    write_text(corpus)
    status = command("evaluate", "--model", "elmo-en", "--corpus", corpus)
    assert_one_line(*status, "no space")


def test_traceback_on_request(monkeypatch):
    monkeypatch.setenv("KERAS_ELMO_TRACEBACK", "1")
    with pytest.raises(ValueError, match="nowhere"):
        main(["export", "--model", "nowhere", "--out", "out"])


def test_card_hides_notes(tmp_path, monkeypatch):
    """TensorFlow's start-up notes would stand above the card."""
    imported = []
    monkeypatch.setattr(commands, "import_keras", lambda: imported.append("keras"))
    assert_one_line(*command("card", tmp_path / "nowhere"), "nowhere")
    assert imported == ["keras"]
