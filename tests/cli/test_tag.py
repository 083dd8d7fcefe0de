"""The subcommands of `tag`."""

import io
import json
import os
import sys
from threading import Thread
from unittest import mock

import pytest

import keras_elmo
from keras_elmo.cli import main
from tests.helpers.command_line import assert_one_line, command, names
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import CONFIG

pytestmark = [pytest.mark.graph, pytest.mark.slow]

TRAIN = "the O\nbank B-ORG\nof I-ORG\n\nthe O\nriver O\n\n" * 4
DEV = "the O\nbank B-ORG\n\nriver O\n"
WORDS = ["<S>", "</S>", "<UNK>", "the", "bank", "river", "of"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tag")
    write_pretrained(folder / "run", CONFIG, WORDS)
    for name, text in {"train.conll": TRAIN, "dev.conll": DEV}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def train(folder, out, *more):
    return command(
        *("tag", "train", "--train", folder / "train.conll", "--model", folder / "run"),
        *("--out", out, "--lstm-units", "4", *more),
    )


@pytest.fixture(scope="module")
def trained(folder):
    """A tagger, and what its training told."""
    dev = ["--dev", folder / "dev.conll", "--epochs", "2", "--patience", "1"]
    status, out, err = train(folder, folder / "ner.keras", *dev)
    assert (status, out) == (0, ""), err
    return folder / "ner.keras", err


def test_train(folder, trained):
    path, err = trained
    first, second, last, hint = err.splitlines()
    assert first.startswith("Epoch 1: loss ") and first.endswith(" s, best so far")
    assert "F1 " in first and "accuracy " in first and second.startswith("Epoch 2: ")
    *_, best = [line for line in (first, second) if line.endswith(", best so far")]
    number = best.removeprefix("Epoch ").partition(":")[0]
    assert f"has the weights of epoch {number}, the best of 2" in last
    assert ("its score is 0: a greater --epochs" in last) == (", F1 0.00," in best)
    if ", F1 0.00," not in best:
        assert ("the last one: a greater --epochs may" in last) == (number == "2")
    assert hint == f"next: keras-elmo tag predict --model {path} --input text.txt"
    assert_one_line(*train(folder, path), "ner.keras exists already")
    assert names(folder) == ["dev.conll", "ner.keras", "run", "train.conll"]


def test_predict(trained, tmp_path, monkeypatch):
    path, _ = trained
    text = tmp_path / "in.txt"
    text.write_text("the bank's\n\nof\n", encoding="utf-8")
    asked = ("tag", "predict", "--model", path, "--input")
    status, out, err = command(*asked, text, "--out", tmp_path / "out.conll")
    assert (status, out, err) == (0, "", "")
    lines = (tmp_path / "out.conll").read_text(encoding="utf-8").splitlines()
    words = [line.split("\t")[0] for line in lines]
    assert words == ["the", "bank's", "", "", "of", ""]
    status, out, _ = command(*asked, text, "--tokenizer", "published")
    assert [line.split("\t")[0] for line in out.splitlines()][1:3] == ["bank", "'s"]
    status, out, _ = command(*asked, text, "--json")
    first, blank, _ = map(json.loads, out.splitlines())
    assert first["words"] == words[:2] and blank["words"] == []
    told = [line.split("\t")[1] for line in lines[:2]]
    assert (status, first["tags"]) == (0, told)
    for tag, row in zip(told, first["probabilities"], strict=True):
        assert tag in row and sum(row.values()) == pytest.approx(1, abs=1e-5)
    # Nothing is told of a file that holds tags already.
    status, _, err = command(*asked, path.parent / "train.conll")
    assert (status, err) == (0, "")
    # From one pipe to another; columns stay.
    stream = io.TextIOWrapper(io.BytesIO(b"# a b c\nthe X\n\nof Y\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    status, out, _ = command(*asked, "-", "--format", "columns")
    lines = out.splitlines()
    assert (status, lines[0], lines[2]) == (0, "# a b c", "")
    assert lines[1].startswith("the X ") and lines[3].startswith("of Y ")
    result = command(*asked, text, "--out", tmp_path / "out.conll")
    assert_one_line(*result, "out.conll exists already")
    text.write_bytes(b"")
    result = command(*asked, text, "--out", tmp_path / "nothing.conll")
    assert_one_line(*result, "there is no text in", "in.txt")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert_one_line(*command(*asked, "-"), "there is no text in standard input")
    assert_one_line(*command(*asked, os.devnull), f"there is no text in {os.devnull}")
    os.mkfifo(tmp_path / "pipe")
    Thread(target=(tmp_path / "pipe").write_text, args=["the bank"]).start()
    status, out, _ = command(*asked, tmp_path / "pipe")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["the", "bank", ""]
    assert names(tmp_path) == ["in.txt", "out.conll", "pipe"]


def test_exported(folder, trained, tmp_path, monkeypatch):
    """An ONNX file predicts and is evaluated as the tagger is."""
    monkeypatch.chdir(tmp_path)
    path, _ = trained
    status, out, err = command("export", "--model", path, "--out", "ner.onnx")
    call = "keras-elmo tag predict --model ner.onnx --input text.txt"
    assert (status, out, err) == (0, f"wrote ner.onnx\nnext: {call}\n", "")
    (tmp_path / "text.txt").write_text("the bank's\n", encoding="utf-8")
    for more in [], ["--tokenizer", "published"]:
        tagged = [
            command("tag", "predict", "--model", model, "--input", "text.txt", *more)
            for model in (path, "ner.onnx")
        ]
        assert tagged[0] == tagged[1] and tagged[0][0] == 0
    dev = ["--corpus", folder / "dev.conll", "--json"]
    scores = [
        command("tag", "evaluate", "--model", model, *dev)
        for model in (path, "ner.onnx")
    ]
    assert scores[0] == scores[1] and json.loads(scores[0][1])["reference"] == 1
    wrong = ["--model", "ner.onnx", "--corpus", "text.txt"]
    said = (
        "text.txt, line 1: must have a tag that marks a span, as the tagger's do (BIO)"
    )
    assert_one_line(*command("tag", "evaluate", *wrong), said)
    asked = ["--model", "ner.onnx", "--corpus", "dev.tsv"]
    said = "ner.onnx: must hold a TextClassifier. Received: a Tagger"
    (tmp_path / "dev.tsv").write_text("the bank\tmoney\n", encoding="utf-8")
    assert_one_line(*command("classify", "evaluate", *asked), said)
    (tmp_path / "dev.tsv").unlink()
    exporting = ["export", "--model", path, "--out"]
    for arguments, said in {
        ("a.onnx", "--tokenizer", "unicode"): "--tokenizer applies only to a SavedMod",
        ("a.tflite", "--dtype", "bfloat16"): "--dtype applies only to a SavedModel",
        (
            "a",
            "--quantize",
            "int8",
        ): "--quantize applies only to a file in .onnx or .tflite",
        ("a", "--language-model"): "--language-model does not apply to a tagger",
        ("a.onnx", "--average", path): "is a tagger; --average must be",
    }.items():
        assert_one_line(*command(*exporting, *arguments), said)
    assert names(tmp_path) == ["ner.onnx", "text.txt"]


def test_nothing_is_half_written(trained, tmp_path):
    path, _ = trained
    wrong = tmp_path / "wrong.conll"
    wrong.write_text("the X\n\n" * 100 + "of\n", encoding="utf-8")
    asked = ("tag", "predict", "--model", path, "--input", wrong)
    result = command(*asked, "--out", tmp_path / "out")
    assert_one_line(*result, "wrong.conll, line 201: must have 2 columns")
    assert names(tmp_path) == ["wrong.conll"]


def test_evaluate(folder, trained):
    path, _ = trained
    asked = ("tag", "evaluate", "--model", path, "--corpus", folder / "dev.conll")
    status, out, _ = command(*asked)
    assert status == 0
    assert out.startswith("processed 3 tokens with 1 phrases; found: ")
    assert "\naccuracy: " in out
    status, out, _ = command(*asked, "--json")
    scores = json.loads(out)
    assert (status, scores["tokens"], scores["reference"]) == (0, 3, 1)


def test_interrupted(folder, tmp_path):
    """The best epoch so far is kept; before the first one ends, there is none."""
    fit = keras_elmo.Tagger.fit
    for epochs, kept in ((1, ["ner.keras"]), (0, [])):

        def interrupted(self, *args, epochs=epochs, **kwargs):
            if epochs:
                fit(self, *args, **{**kwargs, "epochs": epochs})
            raise KeyboardInterrupt

        with mock.patch.object(keras_elmo.Tagger, "fit", interrupted):
            for path in tmp_path.iterdir():
                path.unlink()
            arguments = [
                *("tag", "train", "--train", folder / "train.conll", "--lstm-units"),
                *("4", "--model", folder / "run", "--out", tmp_path / "ner.keras"),
            ]
            assert main([*map(str, arguments)]) == 130
        assert names(tmp_path) == kept


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "ner"], "--out must be a name in .keras"),
        (["--static", "nowhere.txt"], "no file matches 'nowhere.txt'"),
        (["--column", "9"], "--column must be the name or the place"),
        (["--epochs", "0"], "--epochs must be"),
        (["--dropout", "1.5"], "--dropout must be"),
    ],
    ids=str,
)
def test_wrong_arguments_of_train(folder, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    given = {
        "--train": folder / "train.conll",
        "--model": folder / "run",
        "--out": "ner.keras",
        **dict(zip(arguments[::2], arguments[1::2], strict=True)),
    }
    result = command("tag", "train", *(word for pair in given.items() for word in pair))
    assert_one_line(*result, said)
    assert names(tmp_path) == []


def test_export_tells_of_tensorflow_text(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(keras_elmo.Tagger, "export", lambda *args, **kwargs: None)
    for tokenizer, out, needs in (
        ("unicode", "names", True),
        ("none", "names", False),
        ("whitespace", "names", False),
    ):
        asked = ("--model", trained[0], "--out", tmp_path / out)
        status, said, _ = command("export", *asked, "--tokenizer", tokenizer)
        assert status == 0 and ("tensorflow-text" in said) == needs


def test_no_tagger(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the bank\n")
    for path, said in {
        "text.txt": "holds no model; --model must be a .keras file, an ONNX file or a",
        folder / "run": "is a run of keras_elmo; --model must be a .keras file,",
        "elmo-ko": "elmo-ko: is a shipped model, not a tagger; train one on it with `k",
        "nowhere.keras": "no such file or folder. --model must be a .keras file",
    }.items():
        asked = ["--model", path, "--input", "text.txt"]
        assert_one_line(*command("tag", "predict", *asked), said)
