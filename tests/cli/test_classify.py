"""The subcommands of `classify`."""

import io
import json
import sys

import pytest

from tests.helpers.command_line import assert_one_line, command, names
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import SMALLER
from tests.helpers.without_graphs import without_graphs

pytestmark = [pytest.mark.graph, pytest.mark.slow, pytest.mark.usefixtures("eagerly")]

ROWS = [("the bank", "money"), ("the river's", "water")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classify")
    words = ["<S>", "</S>", "<UNK>", "the", "bank"]
    write_pretrained(folder / "run", SMALLER, words)
    lines = "".join(f"{text}\t{label}\n" for text, label in ROWS)
    (folder / "train.tsv").write_text(lines * 4, encoding="utf-8")
    rows = ({"review": text, "mood": label} for text, label in ROWS)
    (folder / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def train(folder, out, *more):
    return command(
        *("classify", "train", "--model", folder / "run", "--out", out),
        *("--lstm-units", "0", "--epochs", "1", *more),
    )


@pytest.fixture(scope="module")
def trained(folder):
    path = folder / "mood.keras"
    data = ["--train", folder / "train.tsv", "--dev", folder / "train.tsv"]
    with without_graphs():
        status, out, err = train(folder, path, *data, "--tokenizer", "whitespace")
    assert (status, out) == (0, ""), err
    assert "Epoch 1: loss " in err and ", accuracy " in err
    kept = (
        "mood.keras has the weights of epoch 1, the best of 1; it is the last one: a "
    )
    assert kept + "greater --epochs may help" in err
    return path


def test_predict(trained, folder, monkeypatch, tmp_path):
    def predict(*arguments):
        asked = ("--model", trained, "--input", *arguments)
        status, out, err = command("classify", "predict", *asked)
        assert (status, err) == (0, "")
        return out.splitlines()

    # As text, a line each; a blank one stays.
    stream = io.TextIOWrapper(io.BytesIO(b"the bank\n\nthe river's\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    first, blank, second = predict("-")
    assert blank == "" and {first, second} <= {"money", "water"}
    lines = predict(folder / "dev.jsonl", "--text-column", "review", "--json")
    rows = [*map(json.loads, lines)]
    assert [row["labels"] for row in rows] == [[first], [second]]
    for row in rows:
        assert row["probabilities"].keys() == {"money", "water"}
        assert sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    # Without its name, a table is one, too: here by a label that the model knows.
    (tmp_path / "dev.txt").write_text("the bank,money\n")
    assert predict(tmp_path / "dev.txt") == [first]
    (tmp_path / "header.tsv").write_text("text\tlabel\n", encoding="utf-8")
    asked = ("--model", trained, "--input", tmp_path / "header.tsv")
    result = command("classify", "predict", *asked)
    assert_one_line(*result, "there is no text in", "header.tsv")


def test_evaluate(trained, folder):
    asked = ["classify", "evaluate", "--model", trained, "--corpus"]
    columns = ["--text-column", "review", "--label-column", "mood"]
    status, out, _ = command(*asked, folder / "dev.jsonl", *columns)
    assert status == 0
    assert out.startswith("accuracy: ") and "\n            money: precision: " in out
    status, out, _ = command(*asked, folder / "train.tsv", "--json")
    assert (status, json.loads(out)["by_label"]["water"]["reference"]) == (0, 4)


def test_several_labels_and_pairs(folder, tmp_path):
    data = tmp_path / "train.csv"
    data.write_text('the,bank,"a,b"\nthe,river,\nbank,river,a\n')
    path = tmp_path / "several.keras"
    kinds = ["--train", data, "--pairs", "--multi-label"]
    status, _, err = train(folder, path, *kinds)
    assert status == 0, err
    status, out, _ = command("classify", "predict", "--model", path, "--input", data)
    assert status == 0 and out.count("\n") == 3
    assert {*out.split()} <= {"a", "b", "a,b"}
    onnx = tmp_path / "several.onnx"
    assert command("export", "--model", path, "--out", onnx)[0] == 0
    status, again, _ = command("classify", "predict", "--model", onnx, "--input", data)
    assert (status, again) == (0, out)
    asked = ["classify", "evaluate", "--corpus", data, "--model"]
    table = command(*asked, path)
    assert command(*asked, onnx) == table and table[0] == 0, table


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--train", "one.tsv"], "--train must have labels of two kinds at least"),
        (["--train", "one.tsv", "--text-column", "5"], "--text-column must be from 0"),
        (["--train", "one.tsv", "--dev", "wrong.tsv"], "wrong.tsv, line 2: must have"),
    ],
    ids=str,
)
def test_wrong_data(folder, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.tsv").write_text("a film\tgood\n")
    (tmp_path / "wrong.tsv").write_text("a film\tgood\nlong\n")
    assert_one_line(*train(folder, "mood.keras", *arguments), said)
    assert names(tmp_path) == ["one.tsv", "wrong.tsv"]


def test_label_that_is_not_known(trained, tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("the bank\tother\n")
    onnx = tmp_path / "mood.onnx"
    assert command("export", "--model", trained, "--out", onnx)[0] == 0
    for model in trained, onnx:
        result = command("classify", "evaluate", "--model", model, "--corpus", path)
        assert_one_line(*result, "--corpus must hold known labels: 'money', 'water'")
        assert f"Received: 'other' (in {path}, line 1)" in result[2]
