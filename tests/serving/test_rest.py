"""The server from outside, in a process of its own."""

import base64
import contextlib
import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from google.protobuf import json_format
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse

from tests.files.exports import SENTENCES, TOKENS, in_memory, padded
from tests.serving.conftest import LIMITS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wanted(exported):
    from keras_elmo.models.elmo_embedding import ElmoEmbedding

    return in_memory(ElmoEmbedding.from_saved_model(exported))


def assert_outputs(found, wanted):
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, atol=1e-5, rtol=0)


# ---------------------------------------------------------------- what is asked for


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


def test_metadata_is_that_of_the_file(server, exported):
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


def test_rows_and_columns_of_strings(server, wanted):
    by_row = server.predict(instances=SENTENCES)
    assert_outputs({k: [row[k] for row in by_row] for k in wanted}, wanted)
    assert_outputs(server.predict(inputs=SENTENCES), wanted)
    named = [{"strings": text} for text in SENTENCES]
    assert server.predict(instances=named, signature_name="default") == by_row
    coded = [{"b64": base64.b64encode(text.encode()).decode()} for text in SENTENCES]
    assert server.predict(instances=coded, signature_name="serving_default") == by_row


def test_rows_and_columns_of_tokens(server, wanted):
    tokens = [[word.decode() for word in row] for row in padded(TOKENS)]
    lengths = [len(row) for row in TOKENS]
    rows = [
        {"tokens": row, "sequence_len": length}
        for row, length in zip(tokens, lengths, strict=True)
    ]
    by_row = server.predict(instances=rows, signature_name="tokens")
    assert_outputs({k: [row[k] for row in by_row] for k in wanted}, wanted)
    columns = {"tokens": tokens, "sequence_len": lengths}
    assert_outputs(server.predict(inputs=columns, signature_name="tokens"), wanted)


@pytest.mark.parametrize("names", [["default"], ["sequence_len", "word_emb"]], ids=str)
def test_a_choice_of_outputs(names, server, wanted):
    some = {name: wanted[name] for name in names}
    found = server.predict(inputs=SENTENCES, output_filter=names)
    assert_outputs(found, some)
    # By name, too, when it is only one: so does a server that ignores the choice.
    for row, answer in enumerate(
        server.predict(instances=SENTENCES, output_filter=names)
    ):
        assert_outputs(answer, {name: array[row] for name, array in some.items()})


def test_no_sentences(server):
    found = server.predict(inputs=[], output_filter=["default", "elmo"])
    assert found == {"default": [], "elmo": []}


@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_paths_are_of_any_case_but_for_the_name(case, server):
    path = case("/v1/models/") + server.name + case("/versions/1:predict")
    assert server.ask(path, {"inputs": ["a"]})[0] == 200


def test_clients_are_served_together(server):
    """Each gets the vectors that it gets alone."""
    texts = [f"word{k} " * (1 + k % 9) for k in range(160)]
    before = server.metric("keras_elmo_batch_sentences_count")

    def ask(text):
        return server.predict(inputs=[text], output_filter=["elmo"])["elmo"]

    with ThreadPoolExecutor(16) as threads:
        together = list(threads.map(ask, texts))
    batches = server.metric("keras_elmo_batch_sentences_count") - before
    assert batches < len(texts)
    for text, found in list(zip(texts, together, strict=True))[::10]:
        np.testing.assert_allclose(found, ask(text), atol=1e-5, rtol=0)


def test_a_small_answer_does_not_wait_for_its_acknowledgement(server):
    """Nagle's algorithm would hold it back for 40 ms, from some answers on."""
    body = json.dumps({"inputs": ["a"], "output_filter": ["default"]})
    with contextlib.closing(server.connect()) as connection:
        # One is enough, on a machine that has much else to do.
        for number in range(300):
            began = time.perf_counter()
            connection.request("POST", f"/v1/models/{server.name}:predict", body)
            connection.getresponse().read()
            if number >= 30 and time.perf_counter() - began < 0.03:
                return
    pytest.fail("each took 30 ms")


# ---------------------------------------------------------------- what there is not


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
    ],
)
def test_what_cannot_be_looked_up(path, status, said, server):
    found, answer = server.ask(path)
    assert found == status
    assert said in answer["error"]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        (
            "/v1/models/other:predict",
            404,
            "Servable not found for request: Latest(other)",
        ),
        (
            "~/versions/9:predict",
            404,
            "Specific, 9(my-elmo); there is my-elmo, version 1",
        ),
        ("~/versions/99999999999999999999:predict", 400, "Malformed request"),
        ("~:classify", 400, "Malformed request"),
        ("~:regress", 400, "Malformed request"),
        ("~", 400, "Malformed request: POST"),
        ("/nowhere", 404, "Not found: POST /nowhere"),
    ],
)
def test_what_cannot_be_predicted(path, status, said, server):
    found, answer = server.ask(path, {"instances": ["a"]})
    assert found == status
    assert said in answer["error"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"signature_name": "none", "inputs": ["a"]}, "there are default, serving_"),
        ({"inputs": ["a"], "output_filter": ["x"]}, "output_filter must name"),
        ({"inputs": ["a"], "output_filter": ["elmo"] * 2}, "output_filter must name"),
        ({"inputs": ["a"] * 51}, "A request may have 50 sentences. Received: 51"),
        ({"inputs": ["a " * 2001]}, "2,000 tokens, padding included. Received: 1 sen"),
        ({"inputs": ["a " * 500, *["a"] * 4]}, "5 sentences, the longest of 500"),
        (
            {
                "inputs": {"tokens": [["a"] * 1001] * 2, "sequence_len": [1, 1]},
                "signature_name": "tokens",
            },
            "2 sentences, the longest of 1,001",
        ),
        (
            {
                "inputs": {"tokens": [["a"]], "sequence_len": [1, 1]},
                "signature_name": "tokens",
            },
            "2 of 'sequence_len' and 1 of 'tokens'",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_asks_for_too_much(body, said, server):
    status, answer = server.ask("~:predict", body)
    assert status == 400
    assert said in answer["error"]


def test_many_bytes_of_few_tokens_are_served(server):
    """Bytes bound tokens from above; beyond that, tokens are counted."""
    found = server.predict(inputs=["x" * 3000, "y"], output_filter=["sequence_len"])
    assert found == {"sequence_len": [1, 1]}
    found = server.predict(inputs=["a " * 1999], output_filter=["sequence_len"])
    assert found == {"sequence_len": [1999]}


def test_a_body_in_an_encoding(server):
    with contextlib.closing(server.connect()) as connection:
        headers = {"Content-Encoding": "gzip"}
        path = f"/v1/models/{server.name}:predict"
        connection.request("POST", path, b"\x1f\x8b", headers)
        answer = connection.getresponse()
        assert answer.status == 400
        assert b"Content-Encoding" in answer.read()


# ---------------------------------------------------------------- how it arrives


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
    lines = [f"POST /v1/models/{server.name}:predict HTTP/1.1", "Host: x", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


def trickle(connection, data):
    """A byte now and then, until the other side has had enough."""
    for byte in data:
        with contextlib.suppress(OSError):
            connection.send(bytes([byte]))
        time.sleep(0.1)


def is_served(server):
    return server.ask("~:predict", {"inputs": ["a good request"]})[0] == 200


def test_a_slow_head(server, raw):
    trickle(raw, head(server)[:20])
    assert is_served(server)
    status, reason = answer_of(raw)
    assert status == 408
    assert "within 1.5 seconds" in reason
    assert raw.recv(1) == b""


def test_a_client_that_says_nothing(server, raw):
    assert answer_of(raw)[0] == 408


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("~:predict", "Content-Length: 100"),
        ("~:predict", "Transfer-Encoding: chunked"),
        ("/nowhere", "Content-Length: 100"),
    ],
)
def test_a_slow_body(path, field, server, raw):
    model = f"/v1/models/{server.name}"
    whole = path.replace("~", model).encode()
    raw.sendall(head(server, field).replace(f"{model}:predict".encode(), whole))
    trickle(raw, b"1\r\n{\r\n" * 3 if "chunked" in field else b'{"inputs": ["slow"')
    assert is_served(server)
    status, reason = answer_of(raw)
    assert status == 408
    assert "body must arrive within 1.5 seconds" in reason
    assert raw.recv(1) == b""


def test_a_head_without_end(server, raw):
    with contextlib.suppress(OSError):
        raw.sendall(head(server)[:-2] + b"X-Long: ")
        for _ in range(20):
            raw.sendall(b"x" * 10_000)
            time.sleep(0.01)
    assert answer_of(raw)[0] == 431
    assert is_served(server)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body(chunked, server):
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


def test_a_large_body_that_is_announced(server, raw):
    raw.sendall(head(server, "Content-Length: 100000000", "Expect: 100-continue"))
    assert answer_of(raw)[0] == 413
    assert raw.recv(1) == b""


@pytest.mark.parametrize("sent", [30, 0])
def test_a_client_that_goes_away(sent, server):
    for part in (head(server)[:sent], head(server, "Content-Length: 99") + b"{"):
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(part)
    # And one that does not wait for its answer.
    body = json.dumps({"inputs": ["a " * 1000]}).encode()
    request = head(server, f"Content-Length: {len(body)}") + body
    with socket.create_connection((server.host, server.port)) as connection:
        connection.sendall(request)
    assert is_served(server)


def test_a_client_that_does_not_take_its_answer(server):
    """It is dropped, and what it was to get with it."""
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
        # Long enough for some answers, and for more than nobody takes.
        time.sleep(5 + 8 * seconds_an_answer)
        taken = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(2**20):
                taken += piece
    assert 0 < taken.count(b"HTTP/1.1 200") < 8
    assert is_served(server)


@pytest.mark.parametrize(
    "line",
    [b"\x16\x03\x01\x02\x00\x01\x00", b"GET", b"FOO / HTTP/1.1", b"GET /\xff HTTP/1.1"],
)
def test_what_is_no_http(line, server, raw):
    raw.sendall(line + b"\r\nHost: x\r\n\r\n")
    assert raw.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert is_served(server)


# ---------------------------------------------------------------- looking after it


def test_health(server):
    assert server.ask("/healthz") == (200, "ok\n")
    assert server.ask("/readyz") == (200, "ready\n")
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
