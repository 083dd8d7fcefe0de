"""The subcommands of `tag`."""

import io
import json
import os
import sys
from threading import Thread
from unittest import mock

import pytest

import keras_elmo
from tests.helpers.command_line import assert_one_line, command, names
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import SMALLER

pytestmark = [pytest.mark.graph, pytest.mark.slow, pytest.mark.usefixtures("eagerly")]

TRAIN = "the O\nbank B-ORG\nof I-ORG\n\nthe O\nriver O\n\n" * 4
DEV = "the O\nbank B-ORG\n\nriver O\n"
WORDS = ["<S>", "</S>", "<UNK>", "the", "bank", "river", "of"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tag")
    write_pretrained(folder / "run", SMALLER, WORDS)
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
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("the bank's\n\nof\n", encoding="utf-8")

    def predict(*arguments):
        """The rows of words and tags, and what stands on the lines."""
        status, out, err = command("tag", "predict", "--model", trained[0], *arguments)
        assert (status, err) == (0, "")
        return [line.split("\t") for line in out.splitlines()], out

    assert predict("--input", "in.txt", "--out", "out.conll") == ([], "")
    lines = (tmp_path / "out.conll").read_text(encoding="utf-8").splitlines()
    words, tags = zip(*(line.split("\t") for line in lines[:2]), strict=True)
    assert words == ("the", "bank's") and lines[2:4] == ["", ""]
    rows, _ = predict("--input", "in.txt", "--tokenizer", "published")
    assert [row[0] for row in rows[:3]] == ["the", "bank", "'s"]
    _, out = predict("--input", "in.txt", "--json")
    first, blank, _ = map(json.loads, out.splitlines())
    assert (first["words"], first["tags"]) == ([*words], [*tags])
    assert blank["words"] == []
    for tag, row in zip(tags, first["probabilities"], strict=True):
        assert tag in row and sum(row.values()) == pytest.approx(1, abs=1e-5)
    # Nothing is told of a file that holds tags already.
    predict("--input", trained[0].parent / "train.conll")
    # From one pipe to another; columns stay.
    stream = io.TextIOWrapper(io.BytesIO(b"# a b c\nthe X\n\nof Y\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    _, out = predict("--input", "-", "--format", "columns")
    comment, the, end, of = out.splitlines()
    assert (comment, end) == ("# a b c", "")
    assert the.startswith("the X ") and of.startswith("of Y ")
    os.mkfifo("pipe")
    Thread(target=(tmp_path / "pipe").write_text, args=["the bank"]).start()
    assert [row[0] for row in predict("--input", "pipe")[0]] == ["the", "bank", ""]
    (tmp_path / "empty.txt").touch()
    for path in "empty.txt", os.devnull:
        asked = ("--model", trained[0], "--input", path, "--out", "nothing")
        result = command("tag", "predict", *asked)
        assert_one_line(*result, f"there is no text in {path}")
    assert names(tmp_path) == ["empty.txt", "in.txt", "out.conll", "pipe"]


def test_exported(folder, trained, tmp_path, monkeypatch):
    """An ONNX file predicts and is evaluated as the tagger is."""
    monkeypatch.chdir(tmp_path)
    path, _ = trained
    status, out, err = command("export", "--model", path, "--out", "ner.onnx")
    call = "keras-elmo tag predict --model ner.onnx --input text.txt"
    assert (status, out, err) == (0, f"wrote ner.onnx\nnext: {call}\n", "")
    (tmp_path / "text.txt").write_text("the bank's\n", encoding="utf-8")
    text = "predict", "--input", "text.txt"
    dev = "evaluate", "--corpus", folder / "dev.conll", "--json"
    for asked in text, (*text, "--tokenizer", "published"), dev:
        results = [
            command("tag", *asked, "--model", model) for model in (path, "ner.onnx")
        ]
        assert results[0] == results[1] and results[0][0] == 0
    assert json.loads(results[0][1])["reference"] == 1
    said = "ner.onnx: must hold a TextClassifier. Received: a Tagger"
    asked = "--model", "ner.onnx", "--corpus", "text.txt"
    assert_one_line(*command("classify", "evaluate", *asked), said)
    for arguments, said in {
        ("a.onnx", "--tokenizer", "unicode"): "--tokenizer applies only to a SavedMod",
        ("a.tflite", "--dtype", "bfloat16"): "--dtype applies only to a SavedModel",
        ("a", "--quantize", "int8"): "--quantize applies only to a file in .onnx or",
        ("a", "--language-model"): "--language-model does not apply to a tagger",
        ("a.onnx", "--average", path): "is a tagger; --average must be",
    }.items():
        result = command("export", "--model", path, "--out", *arguments)
        assert_one_line(*result, said)
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
            assert train(folder, tmp_path / "ner.keras")[0] == 130
        assert names(tmp_path) == kept


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "ner"], "--out must be a name in .keras"),
        (["--column", "9"], "--column must be the name or the place"),
        (["--epochs", "0"], "--epochs must be"),
    ],
    ids=str,
)
def test_wrong_arguments_of_train(folder, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert_one_line(*train(folder, "ner.keras", *arguments), said)
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
