import copy
import json
import logging

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_elmo.text.character_ids import (
    CharacterIds,
    character_ids,
    vocabulary_encoding,
)
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.string_layer import padded as padded_tokens
from keras_elmo.token_vocabulary import TokenVocabulary
from tests.helpers.exports import padded
from tests.helpers.looked_up import (
    LOOKED_UP,
    SENTENCES,
    SPECIALS,
    VOCABULARY,
    WORDS_ALONE,
    looked_up_ids,
)

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has strings"
)
CHARACTERS_ALONE = TokenVocabulary(characters=VOCABULARY.characters, max_characters=8)


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
    """Padding before a token is an error on every path."""
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


def test_graphs_and_pipelines(caplog):
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


@pytest.mark.parametrize(
    "vocabulary", [VOCABULARY, WORDS_ALONE.token_vocabulary, CHARACTERS_ALONE], ids=repr
)
def test_ids(vocabulary):
    """Ids of words, of characters, and of both follow the formats."""
    layer = CharacterIds(vocabulary)
    ids = layer(padded(SENTENCES))
    np.testing.assert_array_equal(ids, looked_up_ids(SENTENCES, vocabulary))
    words = [[token.encode() for token in tokens] for tokens in SENTENCES]
    np.testing.assert_array_equal(PlainIds(vocabulary)(words), ids)
    config = json.loads(json.dumps(layer.get_config()))
    again = CharacterIds.from_config(config)
    assert again.get_config() == config and again.vocabulary == vocabulary
    np.testing.assert_array_equal(again(padded(SENTENCES)), ids)


def test_any_bytes():
    """Invalid UTF-8 becomes unknown characters, whatever its length."""
    for token in (b"\xff", b"\xc0bank", b"a" * 5 + b"\xe2\x82", b"\xf0" * 30):
        ids = CharacterIds(VOCABULARY)(tf.constant([[token]])).numpy()
        inside = ids[0, 1]
        assert ((inside > 0) & (inside <= len(VOCABULARY.characters))).all()
        np.testing.assert_array_equal(PlainIds(VOCABULARY)([[token]]), ids)


@pytest.mark.graph
def test_exported_with_its_table(tmp_path):
    words = keras.Input((None,), dtype="string")
    model = keras.Model(words, CharacterIds(VOCABULARY)(words))
    model.export(tmp_path / "ids", verbose=False)
    tokens = tf.constant(padded(SENTENCES))
    ids = tf.saved_model.load(tmp_path / "ids").serve(tokens)
    np.testing.assert_array_equal(ids, model(tokens))


def test_tables_belong_to_their_vocabulary():
    """An equal vocabulary, and a copy, have their own."""
    first, second = (TokenVocabulary.from_dict(VOCABULARY.to_dict()) for _ in "ab")
    assert first == second and hash(first) == hash(second)
    encoding = vocabulary_encoding(first)
    assert vocabulary_encoding(first) is encoding
    assert vocabulary_encoding(second) is not encoding
    copied = copy.deepcopy(first)
    assert copied == first and not copied.lookups


@pytest.mark.parametrize(
    "change, message",
    [
        ({"words": "bank\nbank\n<oov>"}, "bank' twice"),
        ({"words": "bank\n\n<oov>"}, "none empty"),
        ({"words": "bank"}, "must have the entry <oov>"),
        ({"words": ["bank"]}, "one entry per line"),
        ({"characters": "\n".join(SPECIALS[1:])}, "must have the entry <oov>"),
        ({"words": "", "characters": ""}, "must not both be empty"),
        ({"max_characters": 3}, "of 4 to 1,000"),
        ({"max_characters": True}, "of 4 to 1,000"),
        ({"max_characters": None}, "of 4 to 1,000"),
        ({"begin": 7}, "must be an entry"),
        ({"more": 7}, "must be an object of the keys"),
    ],
)
def test_refused(change, message):
    """A wrong description is refused in one line, wherever it comes from."""
    with pytest.raises(ValueError, match=message) as error:
        TokenVocabulary.from_dict({**VOCABULARY.to_dict(), **change})
    assert "\n" not in str(error.value)
    options = LOOKED_UP.to_options()
    options["token_vocabulary"] |= change
    with pytest.raises(ValueError, match=f"^options: .*{message}"):
        type(LOOKED_UP).from_options(options)
