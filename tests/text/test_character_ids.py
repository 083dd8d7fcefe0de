import logging

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.character_ids import CharacterIds, character_ids
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.string_layer import padded as padded_tokens

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has strings"
)


def spelt(ids):
    return ids + [261] * (50 - len(ids))


def expected_row(tokens, length):
    """The rule of the published format, one id at a time."""
    rows = [spelt([259, 257, 260])]
    for token in tokens:
        rows.append(spelt([259, *(byte + 1 for byte in token[:48]), 260]))
    rows.append(spelt([259, 258, 260]))
    return rows + [[0] * 50] * (length + 2 - len(rows))


token_bytes = st.one_of(
    st.text(min_size=1, max_size=4).map(lambda text: text.encode(errors="replace")),
    st.binary(min_size=46, max_size=51),
    st.sampled_from([b"<S>", b"</S>", b"\0", b"a\0", b"\xff" * 60]),
)


@given(st.lists(st.lists(token_bytes, max_size=5), max_size=4), st.integers(0, 2))
def test_equals_the_published_rule(rows, extra):
    length = max(map(len, rows), default=0) + extra
    padded = [row + [b""] * (length - len(row)) for row in rows]
    tokens = tf.constant(padded, tf.string, shape=(len(rows), length))
    ids = CharacterIds()(tokens)
    assert ids.dtype == tf.int32
    assert ids.shape == (len(rows), length + 2, 50)
    expected = [expected_row(row, length) for row in rows]
    assert ids.numpy().tolist() == expected
    np.testing.assert_array_equal(character_ids(tokens), ids)
    plain = PlainIds()(rows, width=length)
    assert plain.dtype == np.int32 and plain.tolist() == expected


@pytest.mark.parametrize("row", [["", "a"], ["a", "", "b"], ["", "", "b", ""]], ids=str)
def test_empty_string_before_a_token(row):
    """An error on every path: padding is at the end of a row."""
    tokens = tf.constant([["a"] * len(row), row])
    said = '`tokens` must be padded with .*"" at the end of a row.*Received: a row'
    ragged = tf.ragged.constant([["a"], row])
    for wrong in (tokens, tokens.numpy(), tokens.numpy().tolist()):
        with pytest.raises(ValueError, match=said):
            CharacterIds()(wrong)
    with pytest.raises(ValueError, match=said):
        character_ids(padded_tokens(ragged))
    with pytest.raises(ValueError, match="tokens that are not empty"):
        PlainIds()([[b"a"], [token.encode() for token in row]])
    # In a graph, when it runs.
    strings = keras.Input((None,), dtype="string")
    model = keras.Model(strings, CharacterIds()(strings))
    dataset = tf.data.Dataset.from_tensors(tokens).map(character_ids)
    for run in (lambda: model.predict(tokens, verbose=0), lambda: next(iter(dataset))):
        with pytest.raises(tf.errors.InvalidArgumentError, match="at the end of a row"):
            run()


def test_a_long_word_is_cut_after_48_bytes():
    # 16 Korean syllables are 48 bytes.
    cut, whole = CharacterIds()([["가" * 17, "가" * 16]]).numpy()[0, 1:3]
    assert cut.tolist() == whole.tolist()
    assert cut[-1] == 260


def test_graphs_and_pipelines(caplog):
    """In graphs and pipelines."""
    layer = CharacterIds()
    tokens = tf.constant([["a", "bc"], ["d", ""]])
    eager = layer(tokens)
    with caplog.at_level(logging.WARNING):
        function = tf.function(
            layer, input_signature=[tf.TensorSpec([None, None], tf.string)]
        )
        np.testing.assert_array_equal(function(tokens), eager)
        assert function(tf.zeros([0, 3], tf.string)).shape == (0, 5, 50)
        assert function(tf.zeros([2, 0], tf.string)).shape == (2, 2, 50)
        dataset = tf.data.Dataset.from_tensors(tokens).map(layer)
        np.testing.assert_array_equal(next(iter(dataset)), eager)
    assert not caplog.records


def test_symbolic_shapes():
    ids = CharacterIds()(keras.Input((7,), dtype="string"))
    assert (ids.shape, ids.dtype) == ((None, 9, 50), "int32")
    ids = CharacterIds()(keras.Input((None,), dtype="string"))
    assert ids.shape == (None, None, 50)


def test_config_and_axes():
    layer = CharacterIds(name="spell")
    assert CharacterIds.from_config(layer.get_config()).name == "spell"
    assert not layer.supports_jit
    with pytest.raises(ValueError, match="`tokens` must have 2 axes"):
        layer(["a"])
    with pytest.raises(ValueError, match="`tokens` must have 2 axes"):
        layer(keras.Input((), dtype="string"))
