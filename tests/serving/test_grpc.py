"""Tensors -> arrays, and a server asked by TensorFlow Serving's own stubs."""

import functools

import grpc
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis import prediction_service_pb2_grpc
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from keras_elmo.serving.grpc import arrays as tensor_arrays
from keras_elmo.serving.limits import Code, ServingError
from tests.helpers.exports import LENGTHS, SENTENCES, TOKENS, assert_equal, padded
from tests.serving.conftest import LIMITS
from tests.serving.test_json_request import STRINGS
from tests.serving.test_json_request import TOKENS as ARGUMENTS

pytestmark = pytest.mark.graph

TEXTS = st.lists(st.binary(max_size=9), max_size=5)


@given(TEXTS)
def test_tensor_of_strings(texts):
    tensor = tf.make_tensor_proto(texts, tf.string, [len(texts)])
    (found,) = tensor_arrays({"strings": tensor}, STRINGS, 5).values()
    assert (found.tolist(), found.dtype) == (texts, object)


@pytest.mark.parametrize("lengths", [[], [3], [1, 1], [2, 0, 3]])
def test_tensor_of_integers(lengths):
    """TensorFlow writes one, several, and several equal values in three ways."""
    tensors = {
        "sequence_len": tf.make_tensor_proto(lengths, tf.int32, [len(lengths)]),
        "tokens": tf.make_tensor_proto(
            [[b"a"] * 3] * len(lengths), tf.string, [len(lengths), 3]
        ),
    }
    found = tensor_arrays(tensors, ARGUMENTS, 9)
    assert found["sequence_len"].tolist() == lengths
    assert found["sequence_len"].dtype == np.int32
    assert found["tokens"].shape == (len(lengths), 3)


def tensor(dtype=7, shape=(1,), unknown_rank=False, **values):
    proto = TensorProto(dtype=dtype, **values)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    proto.tensor_shape.unknown_rank = unknown_rank
    return proto


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "The inputs must be ['strings']. Received: []"),
        ({"x": tensor()}, "Received: ['x']"),
        ({"strings": tensor(dtype=1)}, "'strings' must be of type string"),
        ({"strings": tensor(dtype=777)}, "Received: type 777"),
        ({"strings": tensor(shape=())}, "'strings' must have 1 axes"),
        ({"strings": tensor(shape=(1, 1))}, "'strings' must have 1 axes"),
        ({"strings": tensor(shape=(1,) * 1000)}, "'strings' must have 1 axes"),
        ({"strings": tensor(unknown_rank=True)}, "'strings' must have 1 axes"),
        ({"strings": tensor(shape=(-1,))}, "'strings' may have 100 values"),
        # A few bytes that announce more than the memory holds.
        ({"strings": tensor(shape=(2**62,), string_val=[b"a"])}, "may have 100 values"),
        ({"strings": tensor(string_val=[b"a", b"b"])}, "the values of its shape"),
        # Bytes that NumPy would take for pointers.
        ({"strings": tensor(tensor_content=b"\0" * 8)}, "the values of its shape"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_invalid_strings(sent, said):
    with pytest.raises(ServingError) as error:
        tensor_arrays(sent, STRINGS, 100)
    assert said in str(error.value)
    assert error.value.code is Code.INVALID_ARGUMENT


INTEGERS = functools.partial(tensor, dtype=3)


@pytest.mark.parametrize(
    ("tokens", "lengths", "said"),
    [
        # No values follow, and TensorFlow would allocate a whole row.
        (
            tensor(shape=(0, 2_000_000_000)),
            INTEGERS(shape=(0,)),
            "'tokens' may have 100 values",
        ),
        # TensorFlow would repeat the last value: 0.1 MB would become 1.6 GB.
        *(
            (
                tensor(shape=(1, 100), string_val=values),
                INTEGERS(int_val=[1]),
                f"'tokens' must have the values of its shape. Received: {len(values)}",
            )
            for values in ([], [b"a"], [b"a", b"b"])
        ),
        *(
            (
                tensor(shape=(size, 1), string_val=[b"a"] * size),
                INTEGERS(shape=(size,), **sent),
                "'sequence_len' must have the values of its shape",
            )
            for size, sent in (
                *((9, {}), (9, {"int_val": [1]}), (9, {"tensor_content": b"\1" * 4})),
                *((1, {"int_val": [1, 2]}), (1, {"tensor_content": b"\0" * 5})),
                (1, {"tensor_content": b"\0" * 8}),
            )
        ),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_invalid_tokens(tokens, lengths, said):
    with pytest.raises(ServingError, match=said):
        tensor_arrays({"tokens": tokens, "sequence_len": lengths}, ARGUMENTS, 100)


def test_long_names():
    """An error does not repeat a name of any length."""
    with pytest.raises(ServingError, match="The inputs must be") as error:
        tensor_arrays({"x" * 100_000: tensor()}, STRINGS, 100)
    assert len(str(error.value)) == 1_000


@given(st.binary(max_size=60))
def test_random_tensor_bytes(data):
    try:
        proto = TensorProto.FromString(data)
    except Exception:
        return
    try:
        (found,) = tensor_arrays({"strings": proto}, STRINGS, 100).values()
    except ServingError as error:
        assert error.code is Code.INVALID_ARGUMENT
    else:
        assert found.ndim == 1 and found.dtype == object


# ------------------------------------------------------------ behind a server


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(f"{server.host}:{server.grpc_port}") as channel:
        yield channel


@pytest.fixture(scope="module")
def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def request(signature="", outputs=(), name="my-elmo", version=None, **inputs):
    request = PredictRequest(output_filter=outputs)
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    if isinstance(version, str):
        request.model_spec.version_label = version
    elif version is not None:
        request.model_spec.version.value = version
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


def arrays(response):
    return {name: tf.make_ndarray(proto) for name, proto in response.outputs.items()}


def assert_outputs(outputs, wanted):
    assert_equal(outputs, wanted)
    for name, array in outputs.items():
        assert array.dtype == ("int32" if name == "sequence_len" else "float32")


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


def test_output_filter(stub, wanted):
    names = ["default", "word_emb"]
    found = arrays(stub.Predict(request("", names, strings=SENTENCES)))
    assert_outputs(found, {name: wanted[name] for name in names})


def test_rest_and_grpc_share_batches(server, stub):
    """They wait in one queue, behind requests that are too large to share a batch."""
    # Longer texts would have their tokens counted first, and short ones would pass.
    large = request("", ["default"], strings=["a " * 24] * 41)
    short = request("", ["default"], strings=["one over gRPC"] * 3)
    # One may come after the large ones are computed.
    for _ in range(20):
        before = server.metric("keras_elmo_batch_requests_count")
        calls = [stub.Predict.future(each) for each in [large] * 30 + [short]]
        server.predict(inputs=["one over REST"], output_filter=["default"])
        shapes = [arrays(call.result())["default"].shape for call in calls]
        assert shapes == [(41, 14)] * 30 + [(3, 14)]
        if server.metric("keras_elmo_batch_requests_count") - before == 31:
            return
    pytest.fail("never computed together")


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [
        (request(name="other", strings=["a"]), "NOT_FOUND", "Servable not found"),
        (request(version=2, strings=["a"]), "NOT_FOUND", "Specific, 2(my-elmo)"),
        (request(version="a", strings=["a"]), "INVALID_ARGUMENT", "version label: a"),
        (request(strings=["a " * 2001]), "INVALID_ARGUMENT", "2,000 tokens"),
        (request(strings=["a" * 60_000]), "RESOURCE_EXHAUSTED", "larger than max"),
    ],
    ids=lambda value: str(value)[-30:],
)
def test_invalid_requests(sent, code, said, stub):
    with pytest.raises(grpc.RpcError) as error:
        stub.Predict(sent)
    assert error.value.code().name == code
    assert said in error.value.details()


def test_invalid_message(channel, stub):
    predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
    for body in (b"\xff\xff", b"nonsense" * 100):
        with pytest.raises(grpc.RpcError) as error:
            predict(body)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert stub.Predict(request(strings=["a good request"])).outputs


def test_unimplemented_methods(stub):
    with pytest.raises(grpc.RpcError) as error:
        stub.GetModelMetadata(GetModelMetadataRequest())
    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_deadline_and_cancel(server, stub):
    """The server leaves both calls, and answers those before and after."""
    count = functools.partial(server.metric, "keras_elmo_batch_requests_count")
    sent = request("", ["default"], strings=["a " * 1900])
    before = count()
    # No two fit into a batch: what follows waits behind them.
    calls = [stub.Predict.future(sent) for _ in range(12)]
    cancelled = stub.Predict.future(sent)
    with pytest.raises(grpc.RpcError) as error:
        stub.Predict(sent, timeout=0.05)
    assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    cancelled.cancel()
    assert cancelled.cancelled()
    for call in calls:
        assert call.result().outputs
    assert stub.Predict(request(strings=["a good request"])).outputs
    assert count() - before == 13


def test_metrics(server, stub):
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
