import base64
import json

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.serving.json_request import JsonRequest
from keras_elmo.serving.limits import Code, ServingError
from keras_elmo.serving.model import Argument

STRINGS = {"strings": Argument(np.dtype(object), 1)}
TOKENS = {
    "sequence_len": Argument(np.dtype(np.int32), 1),
    "tokens": Argument(np.dtype(object), 2),
}


def arrays(body, arguments):
    return JsonRequest.parse(json.dumps(body).encode()).arrays(arguments)


def coded(text):
    return {"b64": base64.b64encode(text).decode()}


TEXTS = st.lists(st.binary(max_size=9), min_size=1, max_size=4)


@given(TEXTS)
def test_strings(texts):
    coded_texts = [coded(text) for text in texts]
    for body in (
        {"instances": coded_texts},
        {"instances": [{"strings": text} for text in coded_texts]},
        {"inputs": coded_texts},
        {"inputs": {"strings": coded_texts}},
    ):
        found = arrays(body, STRINGS)
        assert found["strings"].tolist() == texts
        assert found["strings"].dtype == object


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=9), min_size=1))
def test_utf8(texts):
    assert arrays({"inputs": texts}, STRINGS)["strings"].tolist() == [
        text.encode() for text in texts
    ]


@given(
    st.integers(0, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.binary(min_size=1, max_size=5), min_size=width, max_size=width),
            min_size=1,
            max_size=4,
        )
    ),
    st.data(),
)
def test_tokens(rows, data):
    length = data.draw(st.integers(0, len(rows[0])))
    rows_coded = [[coded(word) for word in row] for row in rows]
    for body in (
        {"instances": [{"tokens": r, "sequence_len": length} for r in rows_coded]},
        {"inputs": {"tokens": rows_coded, "sequence_len": [length] * len(rows)}},
    ):
        found = arrays(body, TOKENS)
        assert found["tokens"].tolist() == rows
        assert found["sequence_len"].tolist() == [length] * len(rows)
        assert found["sequence_len"].dtype == np.int32


def test_empty_columns():
    assert arrays({"inputs": []}, STRINGS)["strings"].shape == (0,)
    found = arrays({"inputs": {"tokens": [], "sequence_len": []}}, TOKENS)
    assert found["tokens"].shape == (0, 0)


@pytest.mark.parametrize("text", ["YWI=", "YWI"])
def test_base64_without_padding(text):
    assert arrays({"inputs": [{"b64": text}]}, STRINGS)["strings"].tolist() == [b"ab"]


DEEP = b"[" * 1000 + b"]" * 1000


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON Parse error"),
        (b"\xff", "JSON Parse error"),
        (b'{"inputs": ["\xff\xfe"]}', "UTF-8"),
        (b'{"inputs": ["\\ud800"]}', "surrogate"),
        (b'{"inputs": NaN}', "JSON Parse error"),
        (b'{"inputs": [1e999]}', "JSON Parse error"),
        (b"[" * 100_000, "JSON Parse error"),
        (b"[]", "must be an object"),
        (b"{}", "either 'instances' or 'inputs'. Received: neither"),
        (b'{"inputs": [], "instances": []}', "Received: instances and inputs"),
        (b'{"signature_name": 1, "inputs": []}', "'signature_name' must be a string"),
        (b'{"output_filter": "elmo", "inputs": []}', "'output_filter' must be a list"),
        (b'{"output_filter": [1], "inputs": []}', "'output_filter' must be a list"),
        (b'{"instances": []}', "'instances' must be a list of at least one"),
        (b'{"instances": {"strings": "a"}}', "'instances' must be a list"),
        (b'{"instances": [["a"]]}', "'strings' must hold strings"),
        (b'{"instances": ["a", 5]}', "Received: 5"),
        (b'{"instances": ["a", null]}', "Received: null"),
        (b'{"instances": ["a", {"strings": "b"}]}', "an object with 'strings'"),
        (b'{"instances": [{"strings": "b"}, "a"]}', "item 1: must be an object"),
        (b'{"instances": [{"strings": "b", "x": 1}]}', "an object with 'strings'"),
        (b'{"inputs": "a"}', "'strings' must be a list, 1 deep"),
        (b'{"inputs": {"x": ["a"]}}', "'inputs' must be an object with 'strings'"),
        (b'{"inputs": {"b64": "YQ=="}}', "'strings' must be a list"),
        (b'{"inputs": [{"b64": "*"}]}', "not base64"),
        (b'{"inputs": [{"b64": "A"}]}', "not base64"),
        ('{"inputs": [{"b64": "é"}]}'.encode(), "not base64"),
        (b'{"inputs": [{"b64": 5}]}', "an object with 'b64'"),
        (b'{"inputs": %s}' % DEEP[150:-150], "'strings' must hold strings"),
        (b'{"inputs": ["%s", 1]}' % (b"x" * 9999), "Received: 1"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_invalid_bodies(body, said):
    with pytest.raises(ServingError) as error:
        JsonRequest.parse(body).arrays(STRINGS)
    assert said in str(error.value)
    assert error.value.code is Code.INVALID_ARGUMENT
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("tokens", "lengths", "said"),
    [
        ([["a"], ["b", "c"]], [1, 2], "'tokens', item 1: must be a list of 1"),
        ([["a"], "b"], [1, 1], "'tokens', item 1: must be a list of 1"),
        (["a"], [1], "'tokens', item 0: must be a list of 0"),
        ([[["a"]]], [1], "'tokens' must hold strings"),
        ([[1]], [1], "'tokens' must hold strings"),
        ([["a"]], [True], "'sequence_len' must hold 32-bit integers"),
        ([["a"]], [1.0], "'sequence_len' must hold 32-bit integers"),
        ([["a"]], [2**31], "'sequence_len' must hold 32-bit integers"),
        ([["a"]], [[1]], "'sequence_len' must hold 32-bit integers"),
        ([["a"]], 1, "'sequence_len' must be a list"),
    ],
    ids=repr,
)
def test_invalid_tokens(tokens, lengths, said):
    body = {"inputs": {"tokens": tokens, "sequence_len": lengths}}
    with pytest.raises(ServingError) as error:
        arrays(body, TOKENS)
    assert said in str(error.value)
    with pytest.raises(ServingError, match="'inputs' must be an object with"):
        arrays({"inputs": tokens}, TOKENS)
    with pytest.raises(ServingError, match="item 0: must be an object with"):
        arrays({"instances": tokens}, TOKENS)


def test_long_row_before_short_ones():
    """An array of its length would have 90 billion places."""
    rows = [["a"] * 300_000, *[[]] * 300_000]
    body = {"inputs": {"tokens": rows, "sequence_len": [1]}}
    with pytest.raises(ServingError, match="item 1: must be a list of 300000"):
        arrays(body, TOKENS)


KEYS = st.sampled_from(
    ["b64", "inputs", "instances", "tokens", "sequence_len", "strings"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | KEYS, inner),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, JSON), st.sampled_from([STRINGS, TOKENS]))
def test_random_json(body, arguments):
    """It is refused with a reason, or has the signature's types and ranks."""
    try:
        found = JsonRequest.parse(orjson.dumps(body, option=0)).arrays(arguments)
    except ServingError as error:
        assert error.code is Code.INVALID_ARGUMENT and str(error)
    except orjson.JSONEncodeError:
        pass
    else:
        for name, (dtype, rank) in arguments.items():
            assert found[name].dtype == dtype and found[name].ndim == rank
