"""`prepare`, `pretrain`, `evaluate` and `embed`, from text to vectors."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.embedding.embedder import embed
from keras_elmo.files.loading import load
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.run_history import read_history
from keras_elmo.utils.files import write_json
from tests.helpers.command_line import assert_one_line, command, names
from tests.helpers.fresh_process import environment, forked_python
from tests.helpers.runs import SMALL_RUN, SMALLER, timeless, write_text

pytestmark = [pytest.mark.graph, pytest.mark.usefixtures("eagerly")]


@pytest.fixture
def small_run(tmp_path_factory):
    """Options of a run that is smaller than any preset."""
    path = tmp_path_factory.mktemp("sizes") / "sizes.json"
    write_json(path, SMALLER.to_options())
    return "--options", path, *SMALL_RUN[2:]


def contents(folder):
    """The bytes of every file under a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_pretrain(run):
    directory, err = run
    rows = read_history(directory / "history.csv")
    assert [row.step for row in rows] == [20, 40]
    first, last = rows
    assert last.loss_forward < first.loss_forward
    assert last.loss_backward < first.loss_backward
    assert last.perplexity_mean < first.perplexity_mean
    # Of seventeen words.
    assert last.perplexity_mean < 8
    assert len(PretrainingDirectory(directory).read_vocabulary()) == 17
    # Without a terminal there are plain lines.
    assert re.search(r"^Counting words: 100 %, ", err, re.MULTILINE)
    assert re.search(
        r"^Pretraining: 100 %, .* words/s, .*loss .*perplexity ", err, re.MULTILINE
    )
    assert re.search(r"^Pretraining: .*validation ", err, re.MULTILINE)


@pytest.mark.slow
def test_evaluate(run, folder):
    directory, _ = run
    status, out, err = command(
        "evaluate", "--model", directory, "--corpus", folder / "held-out.txt"
    )
    assert status == 0
    found = json.loads(out)
    assert out.count("\n") == 1
    assert found.keys() == {"forward", "backward", "mean", "tokens", "unknown_rate"}
    # The best weights, measured as they were while training.
    rows = read_history(directory / "history.csv")
    best = min(rows, key=lambda row: row.perplexity_mean)
    assert found["mean"] == pytest.approx(best.perplexity_mean, rel=1e-4)
    assert found["tokens"] == 24 * 8
    # Fourteen words have an id of their own, of sixteen.
    assert 0 < found["unknown_rate"] < 0.2
    assert "of words are not in the vocabulary" in err


@pytest.mark.slow
def test_evaluate_rows(run, folder):
    """`--max-tokens` sets the rows on which perplexity is measured."""
    directory, _ = run
    arguments = ("evaluate", "--model", directory, "--corpus", folder / "held-out.txt")
    status, out, err = command(*arguments, "--max-tokens", 5)
    assert status == 0
    # Rows of three words at most: of seven words three rows, each with its own end.
    assert json.loads(out)["tokens"] == 24 * (7 + 3)
    assert "had more words than a row holds" in err
    status, _, err = command(*arguments, "--max-tokens", 2)
    assert status == 2
    assert "--max-tokens 2" in err
    # More than a batch of 1,280 holds.
    status, long, _ = command(*arguments, "--max-tokens", 2000)
    assert status == 0
    assert json.loads(long)["tokens"] == 24 * 8


@pytest.mark.slow
@pytest.mark.parametrize("source", ["run", "exported", "imported"])
def test_embed(source, request, folder, tmp_path):
    model = request.getfixturevalue(source)
    model = model[0] if isinstance(model, tuple) else model
    status, out, err = command(
        *("embed", "--model", model, "--input", folder / "held-out.txt"),
        *("--out", tmp_path / "vectors.hdf5"),
    )
    assert (status, out) == (0, ""), err
    assert re.search(r"^Embedding: 100 %, ", err, re.MULTILINE)
    lines = (folder / "held-out.txt").read_text(encoding="utf-8").splitlines()
    wanted = list(embed(load(model), [line.split() for line in lines]))
    with h5py.File(tmp_path / "vectors.hdf5") as file:
        assert len(file) == len(lines)
        for k, vectors in enumerate(wanted):
            np.testing.assert_allclose(file[str(k)], vectors, atol=1e-5)
    assert names(tmp_path) == ["vectors.hdf5"]


def test_pretrain_sizes_from_file(folder, fixtures, tmp_path):
    """The published model has sizes that no preset has."""
    options = fixtures / "published_tiny" / "options.json"
    corpus = ["--corpus", folder / "train-*", "--out", tmp_path / "run"]
    arguments = ["--steps", "1", "--num-sampled", "8", "--batch-tokens", "132"]
    status, _, err = command("pretrain", *corpus, "--options", options, *arguments)
    assert status == 0, err
    assert load(tmp_path / "run").config == ElmoConfig.from_options(options)


# ---------------------------------------------------------------- a prepared text


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path / "text.txt")
    return tmp_path


def test_prepare(here):
    status, out, err = command("prepare", "--corpus", "text.txt", "--out", "prepared")
    assert (status, out) == (0, "")
    first, last = err.splitlines()
    assert first.startswith("Preparing: 100 %, ") and " 168 words in " in first
    assert last == "Joining the parts"
    assert names(here) == ["prepared", "text.txt"]
    again = command("prepare", "--corpus", "text.txt", "--out", "prepared/")
    assert again == (0, "", "prepared is complete; nothing to do\n")


def test_prepare_a_column(here):
    row = json.dumps({"body": "a b\nc"})
    (here / "rows.jsonl").write_text(row, encoding="utf-8")
    prepare = ("prepare", "--corpus", "rows.jsonl", "--out", "prepared", "--column")
    assert_one_line(*command(*prepare, "text"), "rows.jsonl: line 1: lacks the column")
    assert names(here) == ["rows.jsonl", "text.txt"]
    status, _, err = command(*prepare, "body", "--tokenizer", "whitespace")
    assert status == 0 and " 3 words in " in err


def test_prepared_text(here, small_run):
    """It is trained on and measured as the text is."""
    command("prepare", "--corpus", "text.txt", "--out", "prepared")
    histories, measured = [], []
    for corpus in ("text.txt", "prepared"):
        run = f"run-{corpus}"
        status, _, err = command(
            *("pretrain", "--corpus", corpus, "--validation", corpus, *small_run),
            *("--steps", 2, "--out", run),
        )
        assert status == 0, err
        histories.append(timeless(here / run))
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
        (
            ["embed", "--model", "elmo-en", "--out", "x.hdf5"],
            "it is a prepared text",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_prepared_text(arguments, said, here):
    """One line, before Keras is imported, and nothing is written."""
    for out in ("prepared", "damaged"):
        command("prepare", "--corpus", "text.txt", "--out", out)
    (here / "damaged" / "words.txt").write_bytes(b"word\n")
    before = names(here)
    flag = "--input" if arguments[0] == "embed" else "--corpus"
    given = [] if "--corpus" in arguments else [flag, "prepared"]
    assert_one_line(*command(*arguments, *given), said)
    assert names(here) == before


# ---------------------------------------------------------------- bad input


def pretrain(*arguments, options=SMALL_RUN):
    return command("pretrain", *options, "--steps", "2", *arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--preset", "huge"], ["--preset must be one of tiny, mini", "'huge'"]),
        (["--validation", "blank.txt"], ["there is no text in", "blank.txt"]),
        (["--batch-tokens", "7"], ["--batch-tokens must be at least"]),
        (
            ["--schedule", "cosine", "--warmup-steps", "2"],
            ["--warmup-steps must be at least 0 and below --steps, 2."],
        ),
        (["--init", "nowhere"], ["--init must be", "nowhere"]),
        (["--out", "notes"], ["holds something else"]),
    ],
    ids=str,
)
def test_pretrain_bad_input(arguments, said, tmp_path, monkeypatch):
    """Options, files and folders are named as on the command line."""
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path / "text.txt")
    (tmp_path / "blank.txt").write_bytes(b"\n \t\n\xc2\xa0\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "notes.txt").write_text("mine", encoding="utf-8")
    before = names(tmp_path), names(tmp_path / "notes")
    status, out, err = pretrain("--corpus", "text.txt", "--out", "run", *arguments)
    # What came before the error is progress.
    last = "".join(
        line
        for line in err.splitlines(keepends=True)
        if not line.startswith("Counting words: ")
    )
    assert_one_line(status, out, last, *said)
    assert (names(tmp_path), names(tmp_path / "notes")) == before


_TOLD_BY_A_RUN = (
    "Counting words: ",
    "Pretraining: ",
    "Memory: ",
    "Recipe for a processor: ",
    "2 updates on ",
    "Next:",
    "  keras-elmo ",
)


@pytest.mark.slow
def test_pretrain_on_dirty_text(tmp_path, small_run):
    """It is trained on, and everything that was changed is counted and told once."""
    text = tmp_path / "dirt.txt"
    lines = [
        b"an ordinary sentence of seven words .",
        b"bytes \xff\xfe that are not UTF-8 \xc3 .",
        b"more \xa0 of them .",
        b"a NUL \0 byte .",
        "긴낱말".encode() * 6 + b" is one of two long ones " + b"x" * 5000,
        b"word " * 200_000,
    ]
    text.write_bytes(b"\n".join(lines))
    arguments = ["--corpus", text, "--out", tmp_path / "run"]
    assert_one_line(*pretrain(*arguments), str(text), "NUL", "tr -d")
    assert names(tmp_path) == ["dirt.txt"]
    status, out, err = pretrain(*arguments, "--force", options=small_run)
    assert (status, out) == (0, ""), err
    told = [
        "2 of 6 lines held invalid UTF-8; the bad bytes were replaced by U+FFFD",
        "1 line held NUL bytes, which were taken for spaces",
        "of words are longer than 48 bytes and are truncated",
        "1 line of 6 had more words than a row holds and became several rows",
    ]
    for message in told:
        assert err.count(message) == 1, err
    others = [line for line in err.splitlines() if not line.startswith(_TOLD_BY_A_RUN)]
    assert len(others) == len(told)
    assert read_history(tmp_path / "run" / "history.csv")[-1].step == 2


@pytest.mark.slow
def test_pretrain_on_name_not_utf8(tmp_path, small_run):
    text = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    try:
        write_text(Path(os.fsdecode(text)))
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    pattern = tmp_path / "caf*.txt"
    arguments = ("--corpus", pattern, "--out", tmp_path / "run")
    status, out, err = pretrain(*arguments, options=small_run)
    assert (status, out) == (0, ""), err
    recipe = json.loads((tmp_path / "run" / "training.json").read_bytes())
    assert recipe["corpus"][0][0] == r"caf\xe9.txt"


@pytest.mark.slow
def test_pretrain_in_used_directory(run, folder):
    """A run is neither overwritten nor resumed by another."""
    directory, _ = run
    before = contents(directory)
    corpus = ["--corpus", folder / "train-*", "--out", directory]
    corpus += ["--vocabulary-size", "17"]
    for arguments, said in [
        ([], "--out must not hold a run yet"),
        (["--resume", "--seed", "1"], "--seed must be 0, as in"),
        (["--resume", "--preset", "mini"], "--preset or --options must be that of th"),
    ]:
        assert_one_line(*pretrain(*corpus, *arguments), said, str(directory))
    assert contents(directory) == before


@contextlib.contextmanager
def read_only(folder):
    """Nothing can be written below a folder, by root neither."""
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for each in folders:
        each.chmod(0o555)
    # Root may do anything, so this process is somebody else for a while, who has to
    # find his way to the folder.
    user = os.geteuid()
    above = {
        path: path.stat().st_mode for path in folder.parents if path.owner() == "root"
    }
    if user == 0:
        for path, mode in above.items():
            path.chmod(mode | 0o011)
        os.seteuid(65534)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(0)
            for path, mode in above.items():
                path.chmod(mode)
        for each in folders:
            each.chmod(0o755)


@pytest.mark.slow
def test_pretrain_in_read_only_directory(run, folder, tmp_path):
    """Nothing is lost, and the run goes on when it can be."""
    shutil.copytree(run[0], tmp_path / "run")
    for name in ("train-0.txt", "train-1.gz", "held-out.txt"):
        shutil.copy(folder / name, tmp_path)
    before = contents(tmp_path / "run")
    arguments = ["--corpus", tmp_path / "train-*", "--out", tmp_path / "run"]
    arguments += [*SMALL_RUN, "--validation", tmp_path / "held-out.txt"]
    arguments += ["--vocabulary-size", "17", "--steps", "42", "--resume"]
    with read_only(tmp_path):
        status, out, err = command("pretrain", *arguments)
    assert (status, out) == (2, ""), err
    assert re.search(r"^keras-elmo: error: .*/run/.*denied", err.splitlines()[-1]), err
    assert contents(tmp_path / "run") == before
    status, _, err = command("pretrain", *arguments)
    assert status == 0, err


def test_evaluate_imported_model(imported, folder):
    """It predicts no words."""
    result = command(
        "evaluate", "--model", imported, "--corpus", folder / "held-out.txt"
    )
    assert_one_line(*result, str(imported), "an encoder but no language model")


def test_embed_in_read_only_directory(imported, folder, tmp_path):
    # Where somebody else, who the test is for a while, can read them.
    model = shutil.copytree(imported, tmp_path / "model")
    text = shutil.copy(folder / "held-out.txt", tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    arguments = ["--model", model, "--input", text, "--resume"]
    arguments += ["--out", out / "vectors.hdf5"]
    with read_only(tmp_path):
        result = command("embed", *arguments)
    assert_one_line(*result, "denied", str(out / "vectors.hdf5"))
    assert names(out) == []
    status, _, err = command("embed", *arguments)
    assert status == 0, err


# ---------------------------------------------------------------- a process of its own


def start(*arguments, cwd, python=sys.executable):
    return subprocess.Popen(
        [python, "-m", "keras_elmo", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_measured(process, run):
    """Returns when a run has measured itself twice."""
    began = time.monotonic()
    while len(read_history(run / "history.csv")) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - began < 300
        time.sleep(0.1)


@pytest.mark.slow
def test_pretrain_interrupted_and_resumed(folder, tmp_path, small_run):
    """In the middle of training: status 130, a message, and a state to go on from."""
    arguments = [
        *("pretrain", "--corpus", folder / "train-*", "--out", tmp_path / "run"),
        *small_run,
        *("--validate-every", "2"),
    ]
    process = start(
        *arguments, "--steps", "1000000", cwd=tmp_path, python=forked_python()
    )
    wait_until_measured(process, tmp_path / "run")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    stopped = err.splitlines()[-1]
    step = int(re.search(r"stopped after step ([\d,]+)", stopped)[1].replace(",", ""))
    assert stopped.startswith("keras-elmo: ")
    checkpoint = tmp_path / "run" / "checkpoints" / f"step-{step:08}.npz"
    assert str(checkpoint) in stopped
    assert stopped.endswith("; pass --resume to go on")
    assert "Traceback" not in err
    assert checkpoint.exists()

    status, _, err = command(*arguments, "--steps", step + 3, "--resume")
    assert status == 0, err
    assert "Counting words" not in err
    rows = read_history(tmp_path / "run" / "history.csv")
    assert rows[-1].step == step + 3
    assert [row.step for row in rows] == sorted({row.step for row in rows})
