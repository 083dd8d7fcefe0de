"""How a server begins, goes on with another version, and ends."""

import contextlib
import http.client
import json
import shutil
import signal
import socket
import sys
import threading
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from keras_elmo.files.export import export_saved_model
from keras_elmo.serving.errors import Limits
from tests.models.small import random_encoder
from tests.test_command_line import assert_one_line, command

# Its own servers take a while to start.
pytestmark = pytest.mark.slow

BODY = {"inputs": {"tokens": [["a", "bank"]], "sequence_len": [2]}}
BODY |= {"signature_name": "tokens", "output_filter": ["default"]}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two models of different weights."""
    folder = tmp_path_factory.mktemp("two")
    for seed in (1, 2):
        export_saved_model(random_encoder(seed=seed), folder / str(seed), None)
    return folder


class Client(threading.Thread):
    """Asks again and again; notes each answer, and what goes wrong."""

    def __init__(self, server, stop):
        super().__init__()
        self._server = server
        self._stop_asking = stop
        self.answers = []
        self.wrong = []

    def run(self):
        path = f"/v1/models/{self._server.name}:predict"
        with contextlib.closing(self._server.connect()) as connection:
            # Some way below what the server can do: loading takes its share, too.
            while not self._stop_asking.wait(0.02):
                try:
                    connection.request("POST", path, json.dumps(BODY))
                    answer = connection.getresponse()
                    body = json.load(answer)
                except (OSError, http.client.HTTPException) as error:
                    self.wrong.append(error)
                    return
                if answer.status == 200:
                    self.answers.append(tuple(body["outputs"]["default"][0]))
                else:
                    self.wrong.append(body)


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_another_version_takes_over_and_no_request_is_dropped(served, two, tmp_path):
    folder = tmp_path / "elmo"
    folder.mkdir()
    shutil.copytree(two / "1", folder / "1")
    with served(folder) as server:
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
            # The old one's, then the new one's, and nothing else.
            answers = np.array(client.answers)
            first, last = (
                np.isclose(answers, each, atol=1e-5).all(axis=1)
                for each in (answers[0], answers[-1])
            )
            assert (first != last).all()
            assert (np.diff(last.astype(int)) >= 0).all()
        status, answer = server.ask("~/versions/1:predict", BODY)
        assert (status, "Specific, 1(elmo)" in answer["error"]) == (404, True)
        assert server.ask("~/versions/2:predict", BODY)[0] == 200
        assert server.metric("keras_elmo_model_version") == 2


def test_it_finishes_what_it_has_begun(served, two):
    """SIGTERM: nobody else comes in, those who are in get their answers, status 0."""
    rows = {"tokens": [["a"] * 8_000], "sequence_len": [8_000]}
    body = {"inputs": rows, "signature_name": "tokens", "output_filter": ["default"]}
    # No two fit into one batch: all but one wait, for as long as nine batches take.
    with (
        served(two / "1", "--max-tokens", "10000") as server,
        contextlib.ExitStack() as closing,
    ):
        connections = [
            closing.enter_context(contextlib.closing(server.connect()))
            for _ in range(10)
        ]
        for connection in connections:
            connection.request(
                "POST", f"/v1/models/{server.name}:predict", json.dumps(body)
            )
        wait_for(lambda: server.metric("keras_elmo_waiting_requests") > 0)
        server.process.send_signal(signal.SIGTERM)

        def refused():
            with contextlib.suppress(OSError):
                socket.create_connection((server.host, server.port), 1).close()
                return False
            return True

        wait_for(refused)
        for connection in connections:
            answer = connection.getresponse()
            assert answer.status == 200
            assert len(json.load(answer)["outputs"]["default"][0]) == 14
        assert server.process.wait(60) == 0


def test_a_call_that_asks_for_nothing_does_not_hold_it(served, two):
    """gRPC: who has begun to ask in time is answered, who says nothing is left."""
    method = "/tensorflow.serving.PredictionService/Predict"
    silence = threading.Event()

    def nothing():
        silence.wait(600)
        yield from ()

    options = ("--receive-seconds", 2, "--max-tokens", 10_000)
    with (
        contextlib.ExitStack() as stack,
        served(two / "1", *options) as server,
        grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel,
    ):
        stack.callback(silence.set)
        held = [channel.stream_unary(method).future(nothing()) for _ in range(3)]
        asked = PredictRequest(output_filter=["default"])
        asked.model_spec.name = server.name
        asked.model_spec.signature_name = "tokens"
        for name, value in (
            ("tokens", [["a"] * 8_000]),
            ("sequence_len", np.array([8_000], np.int32)),
        ):
            asked.inputs[name].CopyFrom(tf.make_tensor_proto(value))
        # No two fit into one batch: all but one wait.
        answers = [
            channel.unary_unary(method).future(asked.SerializeToString())
            for _ in range(10)
        ]

        def have_arrived():
            """All but the one that is computed, on however slow a machine."""
            done = sum(answer.done() for answer in answers)
            return server.metric("keras_elmo_waiting_requests") + done >= 9

        wait_for(have_arrived)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        for answer in answers:
            assert "default" in PredictResponse.FromString(answer.result(60)).outputs
        assert server.process.wait(60) == 0
        assert time.monotonic() - began > 2
        assert {each.exception(10).code() for each in held} == {
            grpc.StatusCode.UNAVAILABLE
        }


def test_a_full_queue_says_so(served, two):
    """503 at once, for who comes then; the others are answered."""
    with served(two / "1", "--max-waiting", "2", "--max-tokens", "20000") as server:
        rows = {"tokens": [["a"] * 5_000], "sequence_len": [5_000]}
        body = {
            "inputs": rows,
            "signature_name": "tokens",
            "output_filter": ["default"],
        }
        statuses = []

        def ask():
            statuses.append(server.ask("~:predict", body))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        full = [answer for status, answer in statuses if status == 503]
        assert full and all("2 requests wait already" in each["error"] for each in full)
        assert {status for status, _ in statuses} == {200, 503}
        assert server.ask("~:predict", BODY)[0] == 200


# ---------------------------------------------------------------- what cannot begin


def test_what_cannot_be_served_is_one_line(tmp_path, two):
    (tmp_path / "model").mkdir()
    ports = ["--port", "0", "--grpc-port", "0"]
    for arguments, said in [
        (["--model", tmp_path / "nowhere"], "--model must be an exported model"),
        (["--model", tmp_path / "model"], "--model must be an exported model"),
        (["--model", two, "--name", "a/b"], "--name must have no '/' or ':'"),
        (["--model", two, "--port", "99999"], "cannot listen at 127.0.0.1:99999"),
        (["--model", two, "--host", "256.1.1.1"], "cannot listen at 256.1.1.1"),
        (["--model", two, "--max-tokens", "0"], "--max-tokens must be positive"),
        (["--model", two, "--receive-seconds", "nan"], "--receive-seconds must be"),
    ]:
        assert_one_line(*command("serve", *ports, *arguments), said)


@pytest.mark.parametrize("module", ["starlette", "tensorflow_serving"])
def test_without_the_extra_it_is_named(module, two, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    result = command("serve", "--model", two)
    assert_one_line(*result, f"keras-elmo serve needs {module}", "'keras-elmo[serve]'")


def test_a_port_that_is_taken_is_named(two):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for option, other in (("--port", "--grpc-port"), ("--grpc-port", "--port")):
            result = command("serve", "--model", two, option, port, other, "0")
            assert_one_line(*result, f"cannot listen at 127.0.0.1:{port}")


def test_limits_have_the_defaults_that_the_command_line_tells():
    _, told, _ = command("serve", "--help")
    for value in vars(Limits()).values():
        assert f"(default: {value})" in " ".join(told.split())
