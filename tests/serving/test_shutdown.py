"""A server that is told to end finishes its requests; told twice, it ends at once."""

import contextlib
import json
import signal
import socket
import threading
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

from tests.serving.test_server import LONG, MAX_TOKENS, wait_for

pytestmark = pytest.mark.graph

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


def test_sigterm_finishes_requests(served, exported):
    """No new connections; requests over REST and gRPC are answered; status 0.

    A gRPC call whose request never comes is closed after `--receive-seconds`.
    """
    with (
        contextlib.ExitStack() as stack,
        served(exported, *MAX_TOKENS, "--receive-seconds", 2) as server,
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
        assert time.monotonic() - began > 2
        assert {each.exception(10).code() for each in held} == {
            grpc.StatusCode.UNAVAILABLE
        }


def test_second_sigterm_ends_at_once(served, exported):
    """The first one would wait for a call whose request never comes."""
    with (
        pytest.raises(RuntimeError, match=f"ended with -{signal.SIGTERM.value}:"),
        served(exported, "--receive-seconds", 600) as server,
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
