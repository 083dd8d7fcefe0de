"""`prepare`, and the commands that take what it writes."""

import json

import pytest

from tests.helpers.command_line import assert_one_line, command, names
from tests.helpers.runs import SMALL_RUN, timeless, write_text

pytestmark = pytest.mark.graph


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path / "text.txt")
    return tmp_path


def test_prepare(folder):
    status, out, err = command("prepare", "--corpus", "text.txt", "--out", "prepared")
    assert (status, out) == (0, "")
    first, last = err.splitlines()
    assert first.startswith("Preparing: 100 %, ") and " 168 words in " in first
    assert last == "Joining the parts"
    assert names(folder) == ["prepared", "text.txt"]
    again = command("prepare", "--corpus", "text.txt", "--out", "prepared/")
    assert again == (0, "", "prepared is complete; nothing to do\n")


def test_prepare_a_column(folder):
    row = json.dumps({"body": "a b\nc"})
    (folder / "rows.jsonl").write_text(row, encoding="utf-8")
    prepare = ("prepare", "--corpus", "rows.jsonl", "--out", "prepared", "--column")
    assert_one_line(*command(*prepare, "text"), "rows.jsonl: line 1: lacks the column")
    assert names(folder) == ["rows.jsonl", "text.txt"]
    status, _, err = command(*prepare, "body", "--tokenizer", "whitespace")
    assert status == 0 and " 3 words in " in err


@pytest.mark.usefixtures("eagerly")
def test_train_and_evaluate(folder):
    """On a prepared text, as on the text."""
    command("prepare", "--corpus", "text.txt", "--out", "prepared")
    histories, measured = [], []
    for corpus in ("text.txt", "prepared"):
        run = f"run-{corpus}"
        status, _, err = command(
            *("pretrain", "--corpus", corpus, "--validation", corpus, *SMALL_RUN),
            *("--steps", 2, "--out", run),
        )
        assert status == 0, err
        histories.append(timeless(folder / run))
        status, out, err = command("evaluate", "--model", run, "--corpus", corpus)
        assert status == 0, err
        measured.append(out)
    assert histories[0] == histories[1]
    assert measured[0] == measured[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["pretrain", *SMALL_RUN, "--out", "run", "--tokenizer", "treebank"],
            "--tokenizer must be 'unicode', with which prepared was prepared. Received",
        ),
        (
            ["pretrain", *SMALL_RUN, "--out", "run", "--validation", "damaged"],
            "damaged/words.txt: must have ",
        ),
        (["evaluate", "--model", "elmo-en", "--corpus", "damaged"], "words.txt: must"),
        (
            ["embed", "--model", "elmo-en", "--out", "x.hdf5"],
            "it is a prepared text",
        ),
        (
            ["prepare", "--out", "again"],
            "it is a prepared text",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_folders(arguments, said, folder):
    """One line, before Keras is imported, and nothing is written."""
    for out in ("prepared", "damaged"):
        command("prepare", "--corpus", "text.txt", "--out", out)
    (folder / "damaged" / "words.txt").write_bytes(b"word\n")
    before = names(folder)
    flag = "--input" if arguments[0] == "embed" else "--corpus"
    given = [] if "--corpus" in arguments else [flag, "prepared"]
    assert_one_line(*command(*arguments, *given), said)
    assert names(folder) == before
