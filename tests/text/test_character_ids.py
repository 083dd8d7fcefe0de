import logging

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.character_ids import CharacterIds, character_ids, encode_tokens

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has strings"
)


def spelt(ids):
    return ids + [261] * (50 - len(ids))


def expected_row(tokens, length):
    """The rule of the published format, one id at a time."""
    while tokens and not tokens[-1]:
        tokens = tokens[:-1]
    rows = [spelt([259, 257, 260])]
    for token in tokens:
        rows.append(spelt([259, *(byte + 1 for byte in token[:48]), 260]))
    rows.append(spelt([259, 258, 260]))
    return rows + [[0] * 50] * (length + 2 - len(rows))


token_bytes = st.one_of(
    st.just(b""),
    st.text(max_size=4).map(lambda text: text.encode(errors="replace")),
    st.binary(min_size=46, max_size=51),
    st.sampled_from([b"<S>", b"</S>", b"\0", b"a\0", b"\xff" * 60]),
)


@given(
    st.integers(0, 5).flatmap(
        lambda length: st.lists(
            st.lists(token_bytes, min_size=length, max_size=length), max_size=4
        )
    )
)
def test_equals_the_published_rule(rows):
    length = len(rows[0]) if rows else 0
    tokens = tf.constant(rows, tf.string, shape=(len(rows), length))
    ids = CharacterIds()(tokens)
    assert ids.dtype == tf.int32
    assert ids.shape == (len(rows), length + 2, 50)
    expected = [expected_row(row, length) for row in rows]
    assert ids.numpy().tolist() == expected
    np.testing.assert_array_equal(character_ids(tokens), ids)
    for row, wanted in zip(rows, expected, strict=True):
        assert encode_tokens(row).tolist() == [wanted]


def test_inner_empty_string():
    """An inner empty string is an empty word."""
    ids = CharacterIds()([["a", "", "b", ""]]).numpy()[0]
    assert ids[2].tolist() == spelt([259, 260])
    assert (ids[:, 0] > 0).tolist() == [True, True, True, True, True, False]


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
