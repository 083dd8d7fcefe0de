"""Requests of the page, wrong requests, and requests of other pages."""

import functools
import signal
import socket
import threading
import time
import webbrowser
import zipfile
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import orjson
import pytest

import keras_elmo
from keras_elmo.explorer.api import Api
from keras_elmo.explorer.explored_tagger import ExploredTagger
from keras_elmo.explorer.explorer import Explorer
from keras_elmo.explorer.mixes import read_mix_file
from keras_elmo.explorer.page_server import explore
from keras_elmo.serving.limits import ExploreOptions
from tests.explorer.conftest import MIXES, TEXT, ask, request
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.fresh_process import run_script
from tests.helpers.small import random_encoder

pytestmark = pytest.mark.graph

ASKED = {"model": "small", "text": "we sat on the bank", "position": 4}
PAIR = {"model": "small", "first": "the bank", "second": "a bank"}
# More than orjson writes.
NESTED = functools.reduce(lambda inner, _: [inner], range(500), [])
CSV = "epoch,elmo/layer_0,elmo/layer_1,elmo/gamma\n1,0.25,0.75,1.0\n"


def test_answers(page):
    status, headers, found = page.ask("models")
    assert status == 200 and list(found["models"]) == ["small", "korean", "encoder"]
    assert found["mixes"] == MIXES
    assert found["models"]["korean"]["language"] == "ko"
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"
    for method, body, key in (
        ("tokens", ASKED, "tokens"),
        ("neighbours", ASKED, "layers"),
        ("substitutes", ASKED, "both"),
        ("map", ASKED, "points"),
        ("compare", PAIR, "layers"),
        ("score", PAIR, "sentences"),
        ("tags", {"text": "the bank Ada"}, "words"),
        ("mix", {"csv": CSV, "name": "my.csv"}, "mixes"),
    ):
        status, _, found = page.ask(method, body)
        assert status == 200 and found[key], (method, found)
    assert found["mixes"] == [{"task": "my.csv: elmo", "weights": [0.25, 0.75]}]
    _, _, found = page.ask("tokens", ASKED)
    assert found["warning"] is None


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("nothing", {}, "There is no /api/nothing"),
        ("tokens", b"{", "JSON Parse error"),
        ("tokens", b"[]", "must be an object"),
        ("tokens", {}, "'text' must be a string"),
        ("tokens", {"text": NESTED}, "must be a string. Received: a list of 1"),
        ("map", {**ASKED, "method": {"a": NESTED}}, "Received: an object with 'a'"),
        ("tokens", {**ASKED, "model": "other"}, "'model' must be 'small' or 'korean'"),
        ("tokens", {**ASKED, "model": None}, "Received: null"),
        ("tokens", {**ASKED, "text": " \n"}, "at least one word"),
        ("tokens", {**ASKED, "text": "a " * 400}, "may have 300 tokens. Received: 400"),
        ("tokens", {**ASKED, "text": "a" * 10**6}, "may have 12,000 characters"),
        ("tokens", b'{"text": "\\ud800"}', "JSON Parse error"),
        ("map", {**ASKED, "position": 5}, "one of the 5 tokens, from 0. Received: 5"),
        ("map", {**ASKED, "position": True}, "Received: true"),
        ("map", {**ASKED, "method": "x"}, "'method' must be 'pca' or 'umap'"),
        ("neighbours", {**ASKED, "position": None}, "Received: null"),
        ("substitutes", {**ASKED, "model": "encoder"}, "predicts no words"),
        ("score", {**PAIR, "model": "encoder"}, "predicts no words"),
        ("score", {"model": "small"}, "'first' must be a string"),
        ("compare", {**PAIR, "second": 3}, "'second' must be a string. Received: 3"),
        ("quiz", {"model": "small", "number": 0}, "no sentences whose senses are"),
        ("quiz", {"model": "small", "number": -1}, "from 0. Received: -1"),
        ("quiz", {"model": "small", "number": 1.5}, "whole number from 0"),
        ("tags", {}, "'text' must be a string"),
        ("tags", {"text": " \n"}, "at least one word"),
        ("tags", {"text": "a " * 400}, "may have 300 tokens. Received: 400"),
        ("tags", {"text": "a" * 10**6}, "may have 12,000 characters"),
        ("mix", {"csv": "a,b\n", "name": "x"}, "x: lacks the column epoch"),
        ("mix", {"csv": "epoch\n1\n", "name": "x"}, "x: has no columns NAME/layer_0"),
        ("mix", {"csv": CSV + "2,a,1,1\n", "name": "x"}, "x: line 3 must hold numbers"),
        ("mix", {"csv": "epoch\n\0\n", "name": "x"}, "x: line 2 must hold numbers"),
    ],
)
def test_refused(page, method, body, said):
    status, headers, found = page.ask(method, body)
    assert status in (400, 404) and said in found["error"]
    assert "content-security-policy" in headers


def test_no_tagger(start_page, explorers):
    """The page learns that there is no tagger, and a request is refused."""
    page = start_page(Api(explorers, MIXES, 300))
    assert page.ask("models")[2]["tagger"] is None
    status, _, found = page.ask("tags", {"text": "the bank"})
    assert status == 400 and "There is no tagger" in found["error"]


def test_hostile_text(page):
    """Markup, control characters and any script come back as they are."""
    text = "<script>alert(1)</script> a\x07b \u202eevil bank \x00 שלום 배를"
    status, _, found = page.ask("tokens", {**ASKED, "text": text})
    assert status == 200 and found["tokens"][0] == "<script>alert(1)</script>"
    for k in range(len(found["tokens"])):
        assert page.ask("map", {**ASKED, "text": text, "position": k})[0] == 200
    status, _, found = page.ask("tokens", b"x" * (5 * 2**20))
    assert status == 413 and "at most 4,194,304 bytes" in found["error"]


def test_other_hosts(page):
    """A name that is not this machine's, and what is no JSON, are refused."""
    assert page.ask("models", host="localhost")[0] == 200
    status, _, found = page.ask("models", host="evil.example")
    assert status == 421 and "header Host" in found["error"]
    status, _, found = page.ask("models", content_type="text/plain")
    assert status == 400 and "must be application/json" in found["error"]


def test_files(page):
    """The server has the page's own files and nothing else."""
    for path in ("/", "/app.js", "/style.css"):
        status, _, text = request(page.address, "GET", path)
        assert status == 200 and b"<script>" not in text and b"style=" not in text
    for path in ("/../server.py", "/%2e%2e/server.py"):
        status, _, text = request(page.address, "GET", path)
        assert status == 404 and "There is no /" in orjson.loads(text)["error"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods(page, method):
    """The API is asked by POST alone."""
    status, headers, text = request(page.address, method, "/api/models")
    assert (status, headers["allow"]) == (405, "POST")
    said = f"/api/models must be asked by POST. Received: {method}"
    assert orjson.loads(text)["error"] == said


def test_many_at_once(page):
    """200 clicks at once are answered, each with its own answer."""

    def click(k):
        sentence = TEXT[k % 8]
        asked = {"model": "small", "text": " ".join(sentence), "position": 1}
        status, _, found = page.ask("neighbours", asked)
        return status, found

    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(click, range(200)))
    alone = [click(k) for k in range(8)]
    assert all(answer == alone[k % 8] for k, answer in enumerate(answers))
    assert {status for status, _ in alone} == {200}
    assert all(alone[k][1] != alone[j][1] for k in range(8) for j in range(k))


class Slow:
    """Answers when a request has waited."""

    def answer(self, method, body):
        time.sleep(0.2)
        if method == "map":
            raise RuntimeError("the model died")
        return b"{}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_too_many_and_a_fault(start_page):
    page = start_page(Slow(), waiting=2)
    with ThreadPoolExecutor(6) as threads:
        statuses = [each[0] for each in threads.map(page.ask, ["models"] * 6)]
    assert sorted(set(statuses)) == [200, 503] and statuses.count(200) >= 2
    status, _, found = page.ask("map")
    assert (status, found["error"]) == (500, "The server failed; see its log")
    assert page.ask("models")[0] == 200


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        (b"GET /api/models HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\r\n"),
        (
            b"POST /api/models HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n",
            b"x",
        ),
    ],
    ids=["a line", "a body"],
)
def test_idle_connection(start_page, monkeypatch, asked, more):
    """It is closed, also after bytes that are no request."""
    monkeypatch.setattr("keras_elmo.serving.http._IDLE_SECONDS", 0.2)
    page = start_page(Slow())
    with socket.create_connection((page.host, page.port), 10) as connection:
        connection.sendall(asked)
        assert connection.recv(4096)
        connection.sendall(more)
        while connection.recv(4096):
            pass


def test_interrupt_while_loading(monkeypatch):
    """Ctrl-C does not wait until the model is there."""
    loaded = []

    def load(*_):
        signal.raise_signal(signal.SIGINT)
        # It would go on in another thread.
        time.sleep(0.2)
        loaded.append(True)

    monkeypatch.setattr(Explorer, "load", load)
    with pytest.raises(KeyboardInterrupt):
        explore(["small"], print, browser=False, options=ExploreOptions(port=0))
    assert not loaded


def ask_opened(said, method, body):
    """Asks the page whose address was logged; returns the JSON of its answer."""
    address = said.removeprefix("open http://").rstrip("/")
    return ask(address, method, body)[2]


def test_answers_while_loading(monkeypatch, explorer):
    """The address comes first; the page is told what is read, and then has it."""
    said = []

    def reading():
        answer = ask_opened(said[0], "models", b"{}")
        return answer["reading"], list(answer["models"])

    def load(*_):
        said.append(reading())
        return explorer

    def log(sentence):
        said.append(sentence)
        if sentence == "ready":
            said.append(reading())
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Explorer, "load", load)
    with pytest.raises(KeyboardInterrupt):
        explore(["one", "two"], log, browser=False, options=ExploreOptions(port=0))
    assert said[1:] == [
        "reading one and the text",
        (["one", 1, 2], []),
        "reading two and the text",
        (["two", 2, 2], ["one"]),
        "ready",
        (None, ["one", "two"]),
    ]


def test_tagger_file(monkeypatch, explorer, tagger):
    """A tagger's file is read, with the tokenizer that is asked for."""
    said = []

    def load(*arguments):
        said.append(arguments)
        return tagger

    def log(sentence):
        said.append(sentence)
        if sentence == "ready":
            said.append(ask_opened(said[1], "tags", b'{"text": "the bank\'s"}'))
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ExploredTagger, "load", load)
    monkeypatch.setattr(Explorer, "load", lambda *_: explorer)
    options = ExploreOptions(port=0)
    with pytest.raises(KeyboardInterrupt):
        explore(["a"], log, None, (), False, options, "published", tagger="ner.keras")
    assert said[0] == ("ner.keras", "published")
    assert [row["word"] for row in said[-1]["words"]] == ["the", "bank's"]


def test_browser_that_blocks(monkeypatch, explorer):
    """SIGTERM ends the server, even if the browser does not return."""
    closed = threading.Event()

    def open_browser(url):
        while signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            time.sleep(0.01)
        signal.raise_signal(signal.SIGTERM)
        closed.wait(30)

    monkeypatch.setattr(webbrowser, "open", open_browser)
    monkeypatch.setattr(Explorer, "load", lambda *_: explorer)
    began = time.monotonic()
    assert explore(["small"], print, options=ExploreOptions(port=0)) == signal.SIGTERM
    assert time.monotonic() - began < 20
    closed.set()


def test_mix_files(tmp_path):
    """A model's own mix, or the last epoch's of a CSV."""
    char_ids = keras.Input((None, 50), dtype="int32")
    elmo = keras_elmo.ElmoEmbedding(random_encoder(), name="elmo")
    model = keras.Model(char_ids, elmo(char_ids))
    elmo.mixes[0].scalars.assign(np.log([0.2, 0.5, 0.3]))
    model.save(tmp_path / "model.keras")
    (found,) = read_mix_file(str(tmp_path / "model.keras"))
    assert found["task"] == "model.keras: elmo"
    assert found["weights"] == pytest.approx([0.2, 0.5, 0.3])
    (tmp_path / "mix.csv").write_text(CSV)
    (found,) = read_mix_file(str(tmp_path / "mix.csv"))
    assert found["weights"] == [0.25, 0.75]
    path = tmp_path / "other.keras"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(path)
    with pytest.raises(ValueError, match="other.keras: must contain an ElmoEmbedding"):
        read_mix_file(str(path))
    path.write_text("epoch,layer_0")
    with pytest.raises(ValueError, match="other.keras: cannot be loaded: File is not"):
        read_mix_file(str(path))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.txt", "a")
    with pytest.raises(ValueError, match="other.keras: cannot be loaded: "):
        read_mix_file(str(path))


def test_command(tmp_path):
    """What is wrong is said before anything is loaded."""
    model = ["--model", "elmo-en", "--no-browser", "--port", "0"]
    assert_one_line(*command("explore", *model, "--text", tmp_path / "x"), "no file")
    result = command("explore", *model, "--mix", tmp_path / "x.csv")
    assert_one_line(*result, "there is no file")
    result = command("explore", *model, "--tagger", tmp_path / "x.keras")
    assert_one_line(*result, "no such file or folder. --tagger must be a .keras file")
    result = command("explore", *model, "--max-tokens", "0")
    assert_one_line(*result, "--max-tokens must be positive")
    model[1] = tmp_path / "nowhere"
    assert_one_line(*command("explore", *model), "nowhere")


def test_extra_alone(tmp_path):
    """The page needs neither gRPC nor what else serving has."""
    missing = ("grpc", "prometheus_client", "tensorflow_serving", "matplotlib")
    lines = [f"import sys; sys.modules |= dict.fromkeys({missing})"]
    lines += ["import keras_elmo.explorer.page_server"]
    (tmp_path / "page.py").write_text("\n".join(lines))
    run_script("page.py", cwd=tmp_path)
