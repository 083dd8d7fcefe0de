"""The subcommands that ask a model about sentences."""

import io
import json
import sys

import pytest

import keras_elmo
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.pretrained import write_pretrained
from tests.helpers.runs import SMALLER
from tests.words.test_substitutes import ALL_WORDS, SENTENCE

pytestmark = pytest.mark.graph

LINES = [" ".join(SENTENCE), "", "the bank"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explore")
    write_pretrained(folder / "run", SMALLER, [*ALL_WORDS, "--"])
    (folder / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return folder


def test_score(folder, tmp_path):
    """A JSON object for each line, blank ones included."""
    arguments = ["--model", folder / "run", "--input", folder / "text.txt"]
    out = tmp_path / "scores.jsonl"
    status, printed, err = command("score", *arguments, "--out", out)
    assert (status, printed) == (0, "")
    assert err.startswith("Scoring: 100 %, ") and "8 words in" in err
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    for row, each in zip(rows, keras_elmo.score(folder / "run", LINES), strict=True):
        assert row["tokens"] == each.tokens and row["unknown"] == each.unknown
        for name in ("forward", "backward", "pseudo"):
            assert row[name] == pytest.approx(getattr(each, name), abs=1e-4)
            of_tokens = getattr(each, f"token_{name}").tolist()
            assert row[f"token_{name}"] == pytest.approx(of_tokens, abs=1e-4)
    assert_one_line(*command("score", *arguments, "--out", out), "exists already")


def test_score_of_standard_input(folder, monkeypatch):
    """From one pipe to another."""
    text = io.TextIOWrapper(io.BytesIO("\ufeffthe 배\r\nbank ".encode() + b"\xff"))
    monkeypatch.setattr(sys, "stdin", text)
    status, printed, err = command("score", "--model", folder / "run", "--input", "-")
    assert (status, err) == (0, "")
    rows = list(map(json.loads, printed.splitlines()))
    assert [row["tokens"] for row in rows] == [["the", "배"], ["bank", "\ufffd"]]


@pytest.mark.parametrize("name", ["score", "distill"])
def test_empty_text(name, folder, tmp_path):
    empty, out = tmp_path / "empty.txt", tmp_path / "out.txt"
    empty.write_bytes(b"")
    text = ("--input" if name == "score" else "--corpus", empty)
    result = command(name, "--model", folder / "run", *text, "--out", out)
    assert_one_line(*result, f"there is no text in {empty}")
    assert not out.exists()


def test_score_of_another_encoding(folder, monkeypatch):
    """What has come through a pipe so far is checked; --force reads it."""
    ask = ("score", "--model", folder / "run", "--input", "-")
    for flags, status in (([], 2), (["--force"], 0)):
        content = io.BytesIO("über\n".encode("latin-1") * 9)
        text = io.TextIOWrapper(io.BufferedReader(content))
        monkeypatch.setattr(sys, "stdin", text)
        result = command(*ask, *flags)
        assert result[0] == status
        said = "9 of 9 lines are not, and look like ISO-8859-1"
        assert (said in result[2]) == (not flags)


def test_tokenizer(folder, tmp_path):
    """Every command splits its text as asked, and an index remembers how."""
    text = tmp_path / "text.txt"
    text.write_text("the bank's river", encoding="utf-8")
    model = ["--model", folder / "run"]
    asked = ["--sentence", "a bank's", "--word", "bank"]
    corpus = ["--corpus", text, "--index", tmp_path / "index"]
    # The model's own, and another one.
    for tokenizer, status in (([], 2), (["--tokenizer", "published"], 0)):
        assert command("substitutes", *model, *asked, *tokenizer)[0] == status
        assert command("nearest", *model, *corpus, *asked, *tokenizer)[0] == status
    _, printed, _ = command("score", *model, "--input", text, *tokenizer)
    assert len(json.loads(printed)["tokens"]) == 4
    _, printed, _ = command("evaluate", *model, "--corpus", text, *tokenizer)
    assert json.loads(printed)["tokens"] == 5
    status, printed, _ = command("nearest", *corpus[2:], *asked)
    assert status == 0 and "the [bank] 's river" in printed
    result = command("nearest", *corpus[2:], *asked, *tokenizer)
    assert_one_line(*result, "--tokenizer applies only to a new index")


def test_substitutes(folder):
    """By the word and by its position."""
    arguments = ["--model", folder / "run", "--sentence", LINES[0], "--num", "3"]
    expected = [
        f"{each.probability:.4f}\t{each.word}"
        for each in keras_elmo.substitutes(folder / "run", LINES[0], 2, num=3)
    ]
    for place in (["--word", "river"], ["--position", "2"]):
        status, printed, err = command("substitutes", *arguments, *place)
        assert (status, err) == (0, "")
        assert printed.splitlines() == expected
    arguments[-1] = str(len(ALL_WORDS))
    for flags, missing in (
        ([], set()),
        (["--skip-word"], {"river"}),
        (["--skip-punctuation"], {"--"}),
    ):
        asked = [*arguments, "--word", "river", *flags]
        status, printed, err = command("substitutes", *asked)
        words = [line.split("\t")[1] for line in printed.splitlines()]
        assert (status, err) == (0, "")
        assert sorted(words) == sorted({*ALL_WORDS[3:], "--"} - missing)
    result = command("substitutes", *arguments, "--word", "Bank")
    assert_one_line(*result, "--word must be a token", "Received: --word 'Bank'")


def test_nearest(folder):
    """The word that was found stands in brackets."""
    arguments = ["--model", folder / "run", "--sentence", "a bank", "--word", "bank"]
    arguments += ["--corpus", folder / "text.txt", "--num", "8"]
    status, printed, err = command("nearest", *arguments)
    assert (status, err) == (0, "")
    rows = [line.split("\t") for line in printed.splitlines()]
    assert len(rows) == 8
    cosines = [float(cosine) for cosine, _ in rows]
    assert cosines == sorted(cosines, reverse=True)
    assert "the [bank]" in [sentence for _, sentence in rows]


def test_nearest_of_index(folder, tmp_path):
    """The first call builds it; later calls need neither model nor text."""
    index = ["--index", tmp_path / "index"]
    text = ["--model", folder / "run", "--corpus", folder / "text.txt"]
    asked = ["--sentence", "a bank", "--word", "bank", "--num", "8"]
    expected = command("nearest", *text, *asked)
    status, printed, err = command("nearest", *text, *index, *asked)
    assert (status, printed) == expected[:2]
    assert err.startswith("Indexing: ")
    assert command("nearest", *index, *asked) == (0, printed, "")
    status, printed, _ = command("nearest", *index, *asked, "--same-word")
    assert printed == "".join(
        line for line in expected[1].splitlines(True) if "[bank]" in line
    )
    result = command("nearest", *index, *text, *asked)
    assert_one_line(
        *result, "--corpus applies only to a new index", "index exists already"
    )
    result = command("nearest", *asked)
    assert_one_line(*result, "--model and --corpus must be given")
    result = command("nearest", "--index", tmp_path / "nope", *asked)
    said = "nope: no such folder; --model and --corpus must be given to build it"
    assert_one_line(*result, said)
    result = command("nearest", "--index", folder, *asked)
    assert_one_line(*result, "--index must be a folder that Index.save wrote")


def test_nearest_is_checked_before_the_text_is_read(folder, tmp_path):
    """No index is left of a word that is not there."""
    empty = tmp_path / "empty.txt"
    empty.write_text("\n", encoding="utf-8")
    asked = ["nearest", "--model", folder / "run", "--sentence", "a bank"]
    text = ["--corpus", folder / "text.txt", "--index", tmp_path / "index"]
    result = command(*asked, *text, "--word", "river")
    assert_one_line(*result, "--word must be a token of the sentence")
    result = command(*asked, *text, "--word", "bank", "--layer", "7")
    assert_one_line(*result, "--layer must be one of the model's 2")
    result = command(*asked, "--word", "bank", "--corpus", empty)
    assert_one_line(*result, "there is no text in", "empty.txt")
    result = command(*asked, *text[:2], "--word", "bank", "--index", empty / "index")
    assert_one_line(*result, "empty.txt/index: Not a directory")
    assert list(tmp_path.iterdir()) == [empty]


def test_word_that_the_text_lacks(folder):
    asked = ["--model", folder / "run", "--sentence", "a zebra", "--word", "zebra"]
    text = ["--corpus", folder / "text.txt"]
    status, out, err = command("nearest", *asked, *text, "--same-word")
    assert (status, out, err) == (0, "", "the text does not have zebra elsewhere\n")


def test_distill(folder, tmp_path):
    """A word and its vector per line; checks come before the model is read."""
    out = tmp_path / "vectors.txt"
    ask = ["distill", "--model", folder / "run", "--corpus", folder / "text.txt"]
    status, printed, err = command(*ask, "--out", out, "--min-count", "2")
    assert (status, printed) == (0, f"wrote {out}; vectors: 1\n")
    assert "Distilling: 100 %" in err
    static = keras_elmo.StaticEmbedding.from_file(out)
    assert static.words == ["the"]
    result = command(*ask, "--out", out)
    assert_one_line(*result, "vectors.txt exists already")
    out = tmp_path / "others.txt"
    status, printed, err = command(*ask, "--out", out, "--min-count", "99")
    assert (status, printed) == (2, "")
    assert "--min-count must be at most 3, " in err.splitlines()[-1]
    result = command(*ask, "--out", out, "--min-count", "0")
    assert_one_line(*result, "--min-count must be positive")
    assert not out.exists()
