"""JSON of answers, and REST requests to a server in its own process."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time

import numpy as np
import pytest
from google.protobuf import json_format
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse

from keras_elmo.serving import rest, signatures
from keras_elmo.serving.limits import Limits
from keras_elmo.serving.model import Argument
from tests.helpers.exports import SENTENCES, TOKENS, assert_equal, padded
from tests.serving.conftest import LIMITS

pytestmark = pytest.mark.graph

OUTPUTS = {
    "default": np.array([[0.1, 1.0], [-2.0, 3e-8]], np.float32),
    "sequence_len": np.array([1, 0], np.int32),
    "elmo": np.zeros((2, 1, 2), np.float32),
}


@pytest.mark.parametrize(("numbers_at_once", "in_loop"), [(7, False), (20, True)])
def test_encode(numbers_at_once, in_loop, monkeypatch):
    """Large answers are written in another thread than the event loop's."""
    monkeypatch.setattr(signatures, "NUMBERS_AT_ONCE", numbers_at_once)
    threads = []

    def write(outputs):
        threads.append(threading.current_thread())
        return rest.encode_outputs(outputs, False)

    body = asyncio.run(signatures.encode(OUTPUTS, write))
    assert body == rest.encode_outputs(OUTPUTS, False)
    assert (threads == [threading.main_thread()]) is in_loop


@pytest.mark.parametrize("numbers_at_once", [1, 3, 100])
def test_encode_outputs(numbers_at_once, monkeypatch):
    """By row or by column as the request, in however many pieces."""
    monkeypatch.setattr(rest, "NUMBERS_AT_ONCE", numbers_at_once)
    by_column = json.loads(rest.encode_outputs(OUTPUTS, by_row=False))["outputs"]
    by_row = json.loads(rest.encode_outputs(OUTPUTS, by_row=True))["predictions"]
    for name, array in OUTPUTS.items():
        assert by_column[name] == [row[name] for row in by_row]
        np.testing.assert_array_equal(np.array(by_column[name], array.dtype), array)
    # As short as float32 allows.
    assert b"[0.1,1.0]" in rest.encode_outputs(OUTPUTS, by_row=True)


@pytest.mark.parametrize("numbers_at_once", [1, 3, 100])
def test_strings_encoded(numbers_at_once, monkeypatch):
    """Names of tags and labels; what is no UTF-8 does not stop the answer."""
    monkeypatch.setattr(rest, "NUMBERS_AT_ONCE", numbers_at_once)
    outputs = {
        "tags": np.array([[b"O", "배".encode()], [b"", b"\xff"]], object),
        "labels": np.array([b"good", b"bad"], object),
    }
    wanted = {"tags": [["O", "배"], ["", "\ufffd"]], "labels": ["good", "bad"]}
    by_column = json.loads(rest.encode_outputs(outputs, by_row=False))
    by_row = json.loads(rest.encode_outputs(outputs, by_row=True))
    assert by_column == {"outputs": wanted}
    rows = zip(*wanted.values(), strict=True)
    assert by_row["predictions"] == [
        dict(zip(wanted, row, strict=True)) for row in rows
    ]
    empty = {"tags": np.zeros((2, 0), object)}
    assert json.loads(rest.encode_outputs(empty, False)) == {
        "outputs": {"tags": [[], []]}
    }


def test_no_rows_encoded():
    empty = {name: array[:0] for name, array in OUTPUTS.items()}
    assert rest.encode_outputs(empty, by_row=True) == b'{"predictions":[]}'
    found = json.loads(rest.encode_outputs(empty, by_row=False))
    assert found == {"outputs": dict.fromkeys(OUTPUTS, [])}


class FakeModel:
    """Returns as many random vectors as the request's only string says."""

    name = "elmo"
    version = 1

    def find(self, name, version=None):
        return self

    def signature(self, name):
        return self

    arguments = {"strings": Argument(np.dtype(object), 1)}

    async def predict(self, model, signature, inputs, output_filter):
        (count,) = map(int, inputs["strings"])
        vectors = np.random.default_rng(0).random((1, count, 1024), np.float32)
        return {"elmo": vectors}


def app_of(model=None, ready=True, limits=None):
    model = model or FakeModel()
    return rest.rest_app(model, model, limits or Limits(), lambda: ready)


async def asgi(app, body, sent=None, method="POST", path="/v1/models/elmo:predict"):
    """Sends a request to an application in this process; returns its answer."""
    sent = [] if sent is None else sent

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    scope["state"] = {"left": asyncio.get_running_loop().create_future()}
    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


def test_internal_error():
    """The client gets 500 without details; uvicorn gets the exception, for its log."""
    sent = []
    with pytest.raises(ValueError, match="not a number"):
        asyncio.run(asgi(app_of(), b'{"inputs":["not a number"]}', sent))
    assert sent[0]["status"] == 500
    assert json.loads(sent[1]["body"]) == {"error": "The server failed; see its log"}


@pytest.mark.parametrize(
    ("ready", "answer"), [(True, (200, b"ready\n")), (False, (503, b"stopping\n"))]
)
def test_ready(ready, answer):
    """A load balancer sends no more requests to a server that is ending."""
    asked = asgi(app_of(ready=ready), b"", method="GET", path="/readyz")
    assert asyncio.run(asked) == answer


def test_large_answer_leaves_event_loop_free():
    """Short requests are answered while a large answer is encoded."""
    app = app_of()
    short_answers = 0

    async def ask_both():
        nonlocal short_answers
        large = asyncio.create_task(asgi(app, b'{"inputs":["5000"]}'))
        while not large.done():
            status, _ = await asgi(app, b'{"inputs":["1"]}')
            assert status == 200
            short_answers += 1
            await asyncio.sleep(0.001)
        return await large

    status, body = asyncio.run(ask_both())
    assert status == 200 and body.count(b",") == 5_000 * 1024 - 1
    # Encoding takes about half a second; if it held the event loop, there would be one.
    assert short_answers >= 5


# ------------------------------------------------------------ behind a server


def test_status(server):
    for path in ("~", "~/versions/1"):
        status, answer = server.ask(path)
        assert status == 200
        message = json_format.ParseDict(answer, GetModelStatusResponse())
        (version,) = message.model_version_status
        assert (version.version, version.state) == (1, version.AVAILABLE)
        assert answer["model_version_status"][0]["status"] == {
            "error_code": "OK",
            "error_message": "",
        }


def test_metadata(server, exported):
    status, answer = server.ask("~/versions/1/metadata")
    assert (status, answer) == server.ask("~/metadata")
    assert answer["model_spec"] == {
        "name": "my-elmo",
        "signature_name": "",
        "version": "1",
    }
    found = json_format.ParseDict(
        answer["metadata"]["signature_def"], SignatureDefMap()
    )
    saved = SavedModel.FromString((exported / "saved_model.pb").read_bytes())
    assert dict(found.signature_def) == dict(saved.meta_graphs[0].signature_def)


def test_strings(server, wanted):
    by_row = server.predict(instances=SENTENCES)
    assert_equal({k: [row[k] for row in by_row] for k in wanted}, wanted)
    assert_equal(server.predict(inputs=SENTENCES, signature_name="default"), wanted)


def test_tokens(server, wanted):
    tokens = [[word.decode() for word in row] for row in padded(TOKENS)]
    lengths = [len(row) for row in TOKENS]
    columns = {"tokens": tokens, "sequence_len": lengths}
    assert_equal(server.predict(inputs=columns, signature_name="tokens"), wanted)


@pytest.mark.parametrize("names", [["default"], ["sequence_len", "word_emb"]], ids=str)
def test_output_filter(names, server, wanted):
    some = {name: wanted[name] for name in names}
    found = server.predict(inputs=SENTENCES, output_filter=names)
    assert_equal(found, some)
    # By name, too, when it is only one: so does a server that ignores the choice.
    for row, answer in enumerate(
        server.predict(instances=SENTENCES, output_filter=names)
    ):
        assert_equal(answer, {name: array[row] for name, array in some.items()})


def test_no_sentences(server):
    found = server.predict(inputs=[], output_filter=["default", "elmo"])
    assert found == {"default": [], "elmo": []}


@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_case_of_paths(case, server):
    path = case("/v1/models/") + server.name + case("/versions/1:predict")
    assert server.ask(path, {"inputs": ["a"]})[0] == 200


# ---------------------------------------------------------------- invalid requests


def tokens(rows, lengths):
    columns = {"tokens": rows, "sequence_len": lengths}
    return {"signature_name": "tokens", "inputs": columns}


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v1/models/other", 404, "Could not find any versions of model other"),
        ("~/versions/2", 404, "Could not find version 2 of model my-elmo"),
        ("~/versions/2/metadata", 404, "Servable not found for request"),
        ("/v1/models/other/metadata", 404, "Servable not found for request"),
        ("~/versions/x", 400, "Malformed request: GET /v1/models/my-elmo/versions/x"),
        ("~/labels/stable", 400, "Malformed request"),
        ("~:predict", 400, "Malformed request: GET"),
        ("/v1/models", 400, "Malformed request"),
        ("/v1/models/../../etc/passwd", 400, "Malformed request"),
        ("/v1/models/%2e%2e%2fetc", 400, "Malformed request"),
        ("/nowhere", 404, "Not found: GET /nowhere"),
        ("/", 404, "Not found: GET /"),
        ("/healthz/", 404, "Not found"),
        ("POST /v1/models/other:predict", 404, "not found for request: Latest(other)"),
        ("POST ~/versions/9:predict", 404, "Specific, 9(my-elmo); there is my-elmo, v"),
        ("POST ~/versions/99999999999999999999:predict", 400, "Malformed request"),
        ("POST ~:classify", 400, "Malformed request"),
        ("POST ~:regress", 400, "Malformed request"),
        ("POST ~", 400, "Malformed request: POST"),
        ("POST /nowhere", 404, "Not found: POST /nowhere"),
    ],
)
def test_invalid_paths(path, status, said, server):
    body = {"instances": ["a"]} if path.startswith("POST ") else None
    found, answer = server.ask(path.removeprefix("POST "), body)
    assert found == status
    assert said in answer["error"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"signature_name": "none", "inputs": ["a"]}, "there are default, serving_"),
        ({"inputs": ["a"], "output_filter": ["elmo"] * 2}, "output_filter must name"),
        ({"inputs": ["a"] * 51}, "A request may have 50 sentences. Received: 51"),
        ({"inputs": ["a " * 2001]}, "2,000 tokens, padding included. Received: 1 sen"),
        ({"inputs": ["a " * 500, *["a"] * 4]}, "5 sentences, the longest of 500"),
        (tokens([["a"] * 1001] * 2, [1, 1]), "2 sentences, the longest of 1,001"),
        (tokens([["a"]], [1, 1]), "2 of 'sequence_len' and 1 of 'tokens'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_invalid_predictions(body, said, server):
    status, answer = server.ask("~:predict", body)
    assert status == 400
    assert said in answer["error"]


# ------------------------------------------------------------ clients


@pytest.fixture
def raw(server):
    """A bare connection."""
    with socket.create_connection((server.host, server.port), timeout=20) as connection:
        yield connection


def answer_of(connection):
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, json.loads(response.read())["error"]


def head(server, *fields):
    lines = [
        f"POST /v1/models/{server.name}:predict HTTP/1.1",
        "Host: localhost",
        *fields,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def is_served(server):
    return server.ask("~:predict", {"inputs": ["a good request"]})[0] == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_large_body(chunked, server):
    """The client sends all of it before it looks for an answer."""
    # More than the kernel holds for a server that does not read.
    piece, count = b"x" * 100_000, 200
    body = (piece for _ in range(count)) if chunked else piece * count
    with contextlib.closing(server.connect()) as connection:
        path = f"/v1/models/{server.name}:predict"
        connection.request("POST", path, body, encode_chunked=chunked, headers={
            "Transfer-Encoding": "chunked"} if chunked else {})  # fmt: skip
        answer = connection.getresponse()
        assert answer.status == 413
        assert f"{LIMITS['--max-body-bytes']:,} bytes" in json.load(answer)["error"]
    assert is_served(server)


def test_expect_with_large_body(server, raw):
    raw.sendall(head(server, "Content-Length: 100000000", "Expect: 100-continue"))
    assert answer_of(raw)[0] == 413
    assert raw.recv(1) == b""


def test_answer_not_taken(server):
    """The connection is closed, and the other answers are dropped."""
    body = json.dumps({"inputs": ["a " * 1900]}).encode()
    request = head(server, f"Content-Length: {len(body)}") + body
    began = time.monotonic()
    server.predict(inputs=["a " * 1900])
    seconds_an_answer = time.monotonic() - began
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((server.host, server.port))
        connection.settimeout(20)
        connection.sendall(request * 8)
        # Long enough for some answers, and for the one that is not taken to time out.
        time.sleep(1.5 + 8 * seconds_an_answer)
        taken = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(2**20):
                taken += piece
    assert 0 < taken.count(b"HTTP/1.1 200") < 8
    assert is_served(server)


# ---------------------------------------------------------------- health and metrics


def test_health(server):
    assert server.ask("/healthz") == (200, "ok\n")
    assert server.ask("/readyz", method="HEAD") == (200, "")


def test_metrics(server):
    def count(status):
        name = rf'keras_elmo_requests_total{{api="REST",status="{status}"}}'
        _, page = server.ask("/monitoring/prometheus/metrics")
        return sum(
            float(line.split()[-1]) for line in page.splitlines() if name in line
        )

    before = count("OK"), count("INVALID_ARGUMENT"), count("INTERNAL")
    server.predict(inputs=["a"])
    server.ask("~:predict", b"nonsense")
    after = count("OK"), count("INVALID_ARGUMENT"), count("INTERNAL")
    assert after == (before[0] + 1, before[1] + 1, 0)
    assert server.metric("keras_elmo_model_version") == 1
    assert server.metric("process_resident_memory_bytes") > 1e8
