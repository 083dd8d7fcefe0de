import os
import signal
import subprocess
import sys

import pytest

from keras_elmo.cli.process import EndingSignals
from keras_elmo.embedding.embedder import Embedder
from keras_elmo.export.onnx import export_onnx
from tests.helpers.command_line import command
from tests.helpers.exports import embedding
from tests.helpers.fresh_process import environment, run_python

pytestmark = pytest.mark.graph

TEXT = "the bank\n배 가 고프다\n" * 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that no TensorFlow is imported for, and a text."""
    folder = tmp_path_factory.mktemp("process")
    export_onnx(embedding(), folder / "model.onnx")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    return folder


# Commands without the seconds in which Keras and a server are imported.
SERVE = """import signal
from keras_elmo.cli.process import standard_streams
from keras_elmo.cli.servers import _until_stopped
def serve(log):
    log("ready")
    return signal.SIGTERM
with standard_streams():
    _until_stopped(serve)"""
INSPECT = """import sys
import keras_elmo
from keras_elmo.cli import main
sys.modules["keras"] = sys
keras_elmo.inspect_model = lambda model: {"path": model}
sys.exit(main(["inspect", "--json", "text.txt"]))"""


def run(folder, arguments, redirected="", before="", **variables):
    """Runs a command in a shell; returns its status, and what it said where."""
    python = "-m keras_elmo"
    if code := {"inspect": INSPECT, "serve": SERVE}.get(arguments):
        python, arguments, variables = '-c "$CODE"', "", {"CODE": code}
    line = f'{before} "$PYTHON" {python} {arguments} {redirected}'
    line += "\nexit ${PIPESTATUS[0]}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment(PYTHON=sys.executable, PYTHONUNBUFFERED="", **variables),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


EMBED = "embed --model model.onnx --input text.txt --out"


@pytest.mark.parametrize(
    ("arguments", "redirected", "said"),
    [
        (f"{EMBED} -", ">&-", "standard output: Bad file descriptor"),
        (f"{EMBED} -", "> /dev/full", "standard output: No space left on device"),
        # Nothing is written before the end.
        ("inspect", "> /dev/full", "standard output: No space left"),
        (
            "embed --model model.onnx --input - --out none.hdf5",
            "<&-",
            "standard input: Bad file descriptor",
        ),
    ],
)
def test_stream_that_fails(arguments, redirected, said, folder):
    """It is named, in one line."""
    status, out, err = run(folder, arguments, redirected)
    assert (status, out) == (2, "")
    assert err.startswith(f"keras-elmo: error: {said}") and err.count("\n") == 1
    assert not (folder / "none.hdf5").exists()


def test_closed_streams_that_are_not_needed(folder):
    """A file that is opened does not get the number of a stream."""
    out = folder / "closed.hdf5"
    assert run(folder, f"{EMBED} {out}", ">&- 2>&- <&-") == (0, "", "")
    (folder / "open.hdf5").unlink(missing_ok=True)
    assert run(folder, f"{EMBED} open.hdf5")[0] == 0
    assert out.read_bytes() == (folder / "open.hdf5").read_bytes()


def test_closed_standard_error(folder):
    """Messages do not get among the lines of standard output."""
    status, out, _ = run(folder, f"{EMBED} -", "2>&-")
    assert status == 0
    assert all(line.startswith('{"line": ') for line in out.splitlines())


@pytest.mark.parametrize("redirected", [">&-", "> /dev/full"])
def test_server_whose_log_is_lost(redirected, folder):
    """It serves."""
    stopped = "keras-elmo: stopped\n"
    assert run(folder, "serve", redirected) == (0, "", stopped)


@pytest.mark.parametrize("arguments", [f"{EMBED} -", "inspect", "--help"])
def test_nobody_reads(arguments, folder):
    """The command ends quietly; of one line, `--help`, nobody knows."""
    status, _, err = run(folder, arguments, "| true")
    assert (status, err) == (0 if arguments == "--help" else 141, "")


def test_locale_of_ascii(folder):
    """Files, arguments and outputs are UTF-8 in every locale."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ascii_only["PYTHONIOENCODING"] = "ascii"
    status, out, _ = run(folder, f"{EMBED} -", **ascii_only)
    assert status == 0
    assert '"tokens": ["배", "가", "고프다"]' in out.splitlines()[1]
    code = "import sys; from keras_elmo.cli.words import utf8"
    code += "; sys.stdout.buffer.write(utf8(sys.argv[1]).encode())"
    assert run_python("-c", code, "배", cwd=folder, **ascii_only) == "배"


def test_working_folder_that_is_gone(folder):
    (folder / "gone").mkdir()
    arguments = EMBED.replace("model.onnx", f"{folder}/model.onnx")
    arguments = arguments.replace("text.txt", f"{folder}/text.txt")
    before = "cd gone; rmdir ../gone;"
    status, out, err = run(folder, f"{arguments} out.hdf5", before=before)
    said = "keras-elmo: error: the working folder, which names of files begin in, is"
    assert (status, out) == (2, "")
    assert err.startswith(said) and err.count("\n") == 1


# ---------------------------------------------------------------- signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ending_signal(number, folder, tmp_path, monkeypatch):
    """Of a command that is ended nothing is left, and a status tells how."""

    def end(*arguments, **options):
        os.kill(os.getpid(), number)

    monkeypatch.setattr(Embedder, "embed_window", end)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    model, out = folder / "model.onnx", tmp_path / "out.hdf5"
    with open(folder / "text.txt", encoding="utf-8") as text:
        monkeypatch.setattr("sys.stdin", text)
        status, _, err = command(
            "embed", "--model", model, "--input", "-", "--out", out
        )
    assert status == 128 + number
    assert err.splitlines()[-1] == "keras-elmo: stopped; nothing is kept"
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]
    assert signal.getsignal(number) == signal.SIG_DFL


def test_ignored_signal():
    """Under `nohup`, SIGHUP stays ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with EndingSignals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
        assert signals.number == signal.SIGINT
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
