"""A server starts, switches to another version, refuses what is too much, and ends."""

import asyncio
import contextlib
import http.client
import json
import shutil
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.serving import server as server_module
from keras_elmo.serving.limits import Limits, ServeOptions
from keras_elmo.serving.server import serve
from tests.helpers.command_line import assert_one_line, command
from tests.helpers.small import SMALLER, random_encoder

pytestmark = pytest.mark.graph


def body(*words):
    """A request for the mean vector of one sentence."""
    rows = {"tokens": [words], "sequence_len": [len(words)]}
    return {"inputs": rows, "signature_name": "tokens", "output_filter": ["default"]}


SHORT = body("a", "bank")
# Two do not fit into a batch: one is computed, and the rest wait.
LONG = body(*["a"] * 3_000)
MAX_TOKENS = ("--max-tokens", 5_000)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two models of different weights."""
    folder = tmp_path_factory.mktemp("two")
    for seed in (1, 2):
        encoder = random_encoder(SMALLER, seed=seed)
        export_saved_model(encoder, folder / str(seed), None)
    return folder


class Client(threading.Thread):
    """Sends requests one after the other; keeps answers and errors."""

    def __init__(self, server, stop):
        super().__init__()
        self._server = server
        self._stop_asking = stop
        self.answers = []
        self.wrong = []

    def run(self):
        path = f"/v1/models/{self._server.name}:predict"
        with contextlib.closing(self._server.connect()) as connection:
            # Less than the server can do: loading takes its share, too.
            while not self._stop_asking.wait(0.02):
                try:
                    connection.request("POST", path, json.dumps(SHORT))
                    answer = connection.getresponse()
                    found = json.load(answer)
                except (OSError, http.client.HTTPException) as error:
                    self.wrong.append(error)
                    return
                if answer.status == 200:
                    self.answers.append(tuple(found["outputs"]["default"][0]))
                else:
                    self.wrong.append(found)


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, two):
    """A folder with version 1."""
    folder = tmp_path_factory.mktemp("versions") / "elmo"
    folder.mkdir()
    shutil.copytree(two / "1", folder / "1")
    return folder


@pytest.fixture(scope="module")
def server(served, folder):
    with served(folder, *MAX_TOKENS, "--max-waiting", 6) as server:
        yield server


def test_new_version_drops_no_request(server, folder, two):
    stop = threading.Event()
    clients = [Client(server, stop) for _ in range(4)]
    for client in clients:
        client.start()
    wait_for(lambda: all(len(client.answers) > 5 for client in clients))
    # Copied file by file, as people do it.
    shutil.copytree(two / "2", folder / "2")

    def state(version):
        _, answer = server.ask(f"~/versions/{version}")
        return answer.get("model_version_status", [{}])[0].get("state")

    wait_for(lambda: state(1) == "END")
    assert state(2) == "AVAILABLE"
    counts = [len(client.answers) for client in clients]
    wait_for(
        lambda: all(
            len(client.answers) > count + 5
            for client, count in zip(clients, counts, strict=True)
        )
    )
    stop.set()
    for client in clients:
        client.join()
        assert client.wrong == []
        # Only answers of the old version, then of the new one.
        answers = np.array(client.answers)
        first, last = (
            np.isclose(answers, answer, atol=1e-5).all(axis=1)
            for answer in (answers[0], answers[-1])
        )
        assert (first != last).all()
        assert (np.diff(last.astype(int)) >= 0).all()
    status, answer = server.ask("~/versions/1:predict", SHORT)
    assert (status, "Specific, 1(elmo)" in answer["error"]) == (404, True)
    assert server.ask("~/versions/2:predict", SHORT)[0] == 200
    assert server.metric("keras_elmo_model_version") == 2


def test_damaged_version_in_status(server, folder):
    shutil.copytree(folder / "1", folder / "9")
    (folder / "9" / "saved_model.pb").write_bytes(b"damaged")

    def status():
        return server.ask("~/versions/9")[1].get("model_version_status", [{}])[0]

    wait_for(lambda: status().get("state") == "END")
    assert status()["status"]["error_code"] == "INVALID_ARGUMENT"
    assert "cannot be loaded" in status()["status"]["error_message"]
    shutil.rmtree(folder / "9")
    assert server.ask("~:predict", SHORT)[0] == 200


def test_full_queue(server):
    """503 at once; the other requests are answered."""
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda _: server.ask("~:predict", LONG), range(12)))
    full = [answer for status, answer in answers if status == 503]
    assert full and all("6 requests wait already" in each["error"] for each in full)
    assert {status for status, _ in answers} == {200, 503}
    assert server.ask("~:predict", SHORT)[0] == 200


# ---------------------------------------------------------------- no start


def test_invalid_options(tmp_path, two):
    (tmp_path / "model").mkdir()
    ports = ["--port", "0", "--grpc-port", "0"]
    for arguments, said in [
        (["--model", tmp_path / "nowhere"], "--model must be a model's path"),
        (["--model", tmp_path / "model"], "model: holds no model; --model must be an"),
        (["--model", two, "--name", "a/b"], "--name must have no '/' or ':'"),
        (["--model", two, "--port", "99999"], "--port must be at most 65,535"),
        (["--model", two, "--host", "256.1.1.1"], "cannot listen at 256.1.1.1"),
        (["--model", two, "--max-tokens", "0"], "--max-tokens must be positive"),
    ]:
        assert_one_line(*command("serve", *ports, *arguments), said)


@pytest.mark.parametrize("module", ["starlette", "tensorflow_serving"])
def test_missing_extra(module, two, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    result = command("serve", "--model", two)
    package = {"tensorflow_serving": "tensorflow-serving-api"}.get(module, module)
    assert_one_line(*result, f"keras-elmo serve needs {module}", f" '{package}")


def test_taken_port(two):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for option, other in (("--port", "--grpc-port"), ("--grpc-port", "--port")):
            result = command("serve", "--model", two, option, port, other, "0")
            assert_one_line(*result, f"cannot listen at 127.0.0.1:{port}")


def test_interrupt_while_loading(tmp_path, monkeypatch):
    """Ctrl-C does not wait until the model is there."""
    (tmp_path / "1").mkdir()
    loaded = []

    def load(*_):
        signal.raise_signal(signal.SIGINT)
        # It would go on in another thread.
        time.sleep(0.2)
        loaded.append(True)

    monkeypatch.setattr("keras_elmo.serving.server.ModelManager", load)
    with pytest.raises(KeyboardInterrupt):
        serve(tmp_path, print, ServeOptions(port=0, grpc_port=0), Limits())
    assert not loaded


def test_defaults_in_help():
    _, told, _ = command("serve", "--help")
    for value in vars(Limits()).values():
        assert f"(default: {value})" in " ".join(told.split())


@pytest.mark.parametrize(
    ("seconds", "batches", "calls"),
    [
        # Once at rest, however long that is.
        (60.0, [1, 2, 3, 3, 3, 3], 1),
        # Without a rest only when it is due.
        (60.0, [1, 2, 3, 4, 5, 6], 0),
        (0.0, [1, 2, 3, 4, 4, 4], 4),
    ],
)
def test_returns_freed_memory(monkeypatch, seconds, batches, calls):
    returned = []
    monkeypatch.setattr(server_module, "_REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(server_module, "_RETURN_SECONDS", seconds)
    monkeypatch.setattr(
        server_module, "return_freed_memory", lambda: returned.append(True)
    )
    counts = iter(batches)

    class End(BaseException):
        pass

    class Batcher:
        num_batches = 0

    class Models:
        def refresh(self):
            """As requests come between two looks for a version."""
            Batcher.num_batches = next(counts, None)
            if Batcher.num_batches is None:
                raise End

    with pytest.raises(End):
        asyncio.run(server_module._refresh(Models(), Batcher()))
    assert len(returned) == calls


# ---------------------------------------------------------------- the end

METHOD = "/tensorflow.serving.PredictionService/Predict"


def call_without_request(channel, stack):
    """Opens a gRPC call whose request never comes; it ends with the stack."""
    silence = threading.Event()
    stack.callback(silence.set)

    def nothing():
        silence.wait(600)
        yield from ()

    return channel.stream_unary(METHOD).future(nothing())


def is_listening(server):
    with contextlib.suppress(OSError):
        socket.create_connection((server.host, server.port), 1).close()
        return True
    return False


def test_sigterm_finishes_requests(served, two):
    """No new connections; requests over REST and gRPC are answered; status 0.

    A gRPC call whose request never comes is closed after `--receive-seconds`.
    """
    with (
        contextlib.ExitStack() as stack,
        served(two / "1", *MAX_TOKENS, "--receive-seconds", 1) as server,
        grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel,
    ):
        held = [call_without_request(channel, stack) for _ in range(3)]
        asked = PredictRequest(output_filter=["default"])
        asked.model_spec.name = server.name
        asked.model_spec.signature_name = "tokens"
        lengths = np.array(LONG["inputs"]["sequence_len"], np.int32)
        for name, value in (LONG["inputs"] | {"sequence_len": lengths}).items():
            asked.inputs[name].CopyFrom(tf.make_tensor_proto(value))
        calls = [
            channel.unary_unary(METHOD).future(asked.SerializeToString())
            for _ in range(6)
        ]
        connections = [
            stack.enter_context(contextlib.closing(server.connect())) for _ in range(6)
        ]
        path = f"/v1/models/{server.name}:predict"
        for connection in connections:
            connection.request("POST", path, json.dumps(LONG))

        def have_arrived():
            waiting = server.metric("keras_elmo_waiting_requests")
            return waiting + server.metric("keras_elmo_batch_requests_count") == 12

        wait_for(have_arrived)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)

        wait_for(lambda: not is_listening(server))
        for connection in connections:
            answer = connection.getresponse()
            assert answer.status == 200
            assert len(json.load(answer)["outputs"]["default"][0]) == 14
        for call in calls:
            assert "default" in PredictResponse.FromString(call.result(60)).outputs
        assert server.process.wait(60) == 0
        assert time.monotonic() - began > 1
        assert {each.exception(10).code() for each in held} == {
            grpc.StatusCode.UNAVAILABLE
        }


def test_second_sigterm_ends_at_once(served, two):
    """The first one would wait for a call whose request never comes."""
    with (
        pytest.raises(RuntimeError, match=f"ended with -{signal.SIGTERM.value}:"),
        served(two / "1", "--receive-seconds", 600) as server,
        grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel,
        contextlib.ExitStack() as stack,
    ):
        call_without_request(channel, stack)
        # That one has arrived before this one is refused.
        with pytest.raises(grpc.RpcError):
            channel.unary_unary(METHOD)(b"no message")
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not is_listening(server))
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
