import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.core.framework.tensor_pb2 import TensorProto

from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.grpc import arrays
from tests.serving.test_json_request import STRINGS, TOKENS

TEXTS = st.lists(st.binary(max_size=9), max_size=5)


@given(TEXTS)
def test_strings(texts):
    tensor = tf.make_tensor_proto(texts, tf.string, [len(texts)])
    (found,) = arrays({"strings": tensor}, STRINGS, 5).values()
    assert (found.tolist(), found.dtype) == (texts, object)


@pytest.mark.parametrize("lengths", [[], [3], [1, 1], [2, -1, 2**31 - 1]])
def test_integers(lengths):
    """TensorFlow writes one, many, and many of one kind each in its own way."""
    tensors = {
        "sequence_len": tf.make_tensor_proto(lengths, tf.int32, [len(lengths)]),
        "tokens": tf.make_tensor_proto(
            [[b"a"]] * len(lengths), tf.string, [len(lengths), 1]
        ),
    }
    found = arrays(tensors, TOKENS, 5)
    assert found["sequence_len"].tolist() == lengths
    assert found["sequence_len"].dtype == np.int32
    assert found["tokens"].shape == (len(lengths), 1)


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
        # A few bytes that would fill the memory.
        ({"strings": tensor(shape=(2**62,), string_val=[b"a"])}, "may have 100 values"),
        ({"strings": tensor(string_val=[b"a", b"b"])}, "the values of its shape"),
        # Bytes that would be taken for pointers.
        ({"strings": tensor(tensor_content=b"\0" * 8)}, "the values of its shape"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_are_no_strings(sent, said):
    with pytest.raises(ServingError) as error:
        arrays(sent, STRINGS, 100)
    assert said in str(error.value)
    assert error.value.code is Code.INVALID_ARGUMENT


def test_no_rows_of_very_many_tokens():
    """Nothing is sent, and TensorFlow would make room for all of a row."""
    tensors = {
        "tokens": tensor(shape=(0, 2_000_000_000)),
        "sequence_len": tensor(dtype=3, shape=(0,)),
    }
    with pytest.raises(ServingError, match="'tokens' may have 100 values"):
        arrays(tensors, TOKENS, 100)


def test_what_is_no_tensor_of_integers():
    tokens = tensor(shape=(1, 1), string_val=[b"a"])
    for lengths in (
        tensor(dtype=3, int_val=[1, 2]),
        tensor(dtype=3, tensor_content=b"\0" * 5),
        tensor(dtype=3, tensor_content=b"\0" * 8),
    ):
        with pytest.raises(ServingError, match="'sequence_len' must have the values"):
            arrays({"tokens": tokens, "sequence_len": lengths}, TOKENS, 100)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_tensor_or_refused(data):
    try:
        proto = TensorProto.FromString(data)
    except Exception:
        return
    try:
        (found,) = arrays({"strings": proto}, STRINGS, 100).values()
    except ServingError as error:
        assert error.code is Code.INVALID_ARGUMENT
    else:
        assert found.ndim == 1 and found.dtype == object
