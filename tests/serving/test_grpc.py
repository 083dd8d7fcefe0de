"""gRPC with the stubs that TensorFlow Serving's clients use."""

import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_service_pb2_grpc
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from tests.files.exports import LENGTHS, SENTENCES, TOKENS, in_memory, padded
from tests.serving.conftest import LIMITS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel:
        yield channel


@pytest.fixture(scope="module")
def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="module")
def wanted(exported):
    from keras_elmo.models.elmo_embedding import ElmoEmbedding

    return in_memory(ElmoEmbedding.from_saved_model(exported))


def request(signature="", outputs=(), name="my-elmo", version=None, **inputs):
    request = PredictRequest(output_filter=outputs)
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


def arrays(response):
    return {name: tf.make_ndarray(proto) for name, proto in response.outputs.items()}


def assert_outputs(found, wanted):
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].dtype == ("int32" if name == "sequence_len" else "float32")
        np.testing.assert_allclose(found[name], array, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("signature", "version", "answered"),
    [("", None, "serving_default"), ("default", 1, "default")],
)
def test_strings(signature, version, answered, stub, wanted):
    response = stub.Predict(request(signature, version=version, strings=SENTENCES))
    assert_outputs(arrays(response), wanted)
    spec = response.model_spec
    assert (spec.name, spec.version.value) == ("my-elmo", 1)
    assert spec.signature_name == answered


def test_tokens(stub, wanted):
    lengths = np.array(LENGTHS, np.int32)
    sent = request("tokens", tokens=padded(TOKENS), sequence_len=lengths)
    assert_outputs(arrays(stub.Predict(sent)), wanted)


def test_a_choice_of_outputs(stub, wanted):
    names = ["default", "word_emb"]
    found = arrays(stub.Predict(request("", names, strings=SENTENCES)))
    assert_outputs(found, {name: wanted[name] for name in names})


def test_rest_and_grpc_are_computed_together(server, stub):
    """One queue: behind a request that fits beside no other, one of each waits."""
    long = request("", ["default"], strings=["a " * 1900])
    short = request("", ["default"], strings=["one over gRPC"] * 3)
    # One may come after the long one is computed.
    for _ in range(20):
        before = server.metric("keras_elmo_batch_requests_count")
        calls = [stub.Predict.future(each) for each in (long, short)]
        server.predict(inputs=["one over REST"], output_filter=["default"])
        shapes = [arrays(call.result())["default"].shape for call in calls]
        assert shapes == [(1, 14), (3, 14)]
        if server.metric("keras_elmo_batch_requests_count") - before == 2:
            return
    pytest.fail("never computed together")


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [
        (request(name="other", strings=["a"]), "NOT_FOUND", "Servable not found"),
        (request(version=2, strings=["a"]), "NOT_FOUND", "Specific, 2(my-elmo)"),
        (request("none", strings=["a"]), "INVALID_ARGUMENT", "not found in signature"),
        (request("", ["x"], strings=["a"]), "INVALID_ARGUMENT", "output_filter must"),
        (request(), "INVALID_ARGUMENT", "The inputs must be ['strings']"),
        (request(strings=[[b"a"]]), "INVALID_ARGUMENT", "must have 1 axes"),
        (request(strings=[1.0]), "INVALID_ARGUMENT", "must be of type string"),
        (request(strings=["a"] * 51), "INVALID_ARGUMENT", "may have 50 sentences"),
        (request(strings=["a " * 2001]), "INVALID_ARGUMENT", "2,000 tokens"),
        (request(strings=["a" * 60_000]), "RESOURCE_EXHAUSTED", "larger than max"),
    ],
    ids=lambda value: str(value)[-30:],
)
def test_what_cannot_be_predicted(sent, code, said, stub):
    with pytest.raises(grpc.RpcError) as error:
        stub.Predict(sent)
    assert error.value.code().name == code
    assert said in error.value.details()


def test_a_label_is_unknown(stub):
    sent = request(strings=["a"])
    sent.model_spec.version_label = "stable"
    with pytest.raises(grpc.RpcError) as error:
        stub.Predict(sent)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_what_is_no_message(channel, stub):
    predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    for body in (b"\xff\xff", b"nonsense" * 100):
        with pytest.raises(grpc.RpcError) as error:
            predict(body)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert stub.Predict(request(strings=["a good request"])).outputs


def test_other_methods_are_unimplemented(stub):
    with pytest.raises(grpc.RpcError) as error:
        stub.GetModelMetadata(GetModelMetadataRequest())
    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_client_that_does_not_wait(stub):
    sent = request(strings=["a " * 1900])
    with pytest.raises(grpc.RpcError) as error:
        stub.Predict(sent, timeout=0.005)
    assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    call = stub.Predict.future(sent)
    time.sleep(0.01)
    call.cancel()
    assert stub.Predict(request(strings=["a good request"])).outputs


def test_it_is_counted(server, stub):
    def count():
        _, page = server.ask("/monitoring/prometheus/metrics")
        name = 'keras_elmo_requests_total{api="GRPC",status="OK"}'
        return [line for line in page.splitlines() if line.startswith(name)]

    # The first one makes the line.
    stub.Predict(request(strings=["a"]))
    before = float(count()[0].split()[-1])
    stub.Predict(request(strings=["a"]))
    assert float(count()[0].split()[-1]) == before + 1
    assert LIMITS["--max-body-bytes"] < 60_000
