"""Tokens to the ids of words and characters."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.text.character_ids import CharacterIds, character_ids
from keras_elmo.text.plain_ids import PlainIds
from keras_elmo.text.vocabulary_ids import vocabulary_encoding
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

CHARACTERS_ALONE = TokenVocabulary(characters=VOCABULARY.characters, max_characters=8)


@pytest.mark.parametrize(
    "vocabulary", [VOCABULARY, WORDS_ALONE.token_vocabulary, CHARACTERS_ALONE], ids=repr
)
def test_ids(vocabulary):
    """Of words, of characters, and of both, as the formats have them."""
    layer = CharacterIds(vocabulary)
    ids = layer(padded(SENTENCES))
    np.testing.assert_array_equal(ids, looked_up_ids(SENTENCES, vocabulary))
    words = [[token.encode() for token in tokens] for tokens in SENTENCES]
    np.testing.assert_array_equal(PlainIds(vocabulary)(words), ids)
    config = json.loads(json.dumps(layer.get_config()))
    copy = CharacterIds.from_config(config)
    assert copy.get_config() == config and copy.vocabulary == vocabulary
    np.testing.assert_array_equal(copy(padded(SENTENCES)), ids)


def test_any_bytes():
    """Invalid UTF-8 is unknown characters, whatever its length."""
    for token in (b"\xff", b"\xc0bank", b"a" * 5 + b"\xe2\x82", b"\xf0" * 30):
        ids = CharacterIds(VOCABULARY)(tf.constant([[token]])).numpy()
        inside = ids[0, 1]
        assert ((inside > 0) & (inside <= len(VOCABULARY.characters))).all()
        np.testing.assert_array_equal(PlainIds(VOCABULARY)([[token]]), ids)


def test_tables_outlive_an_equal_vocabulary():
    """A vocabulary that is gone takes no table of another one along."""
    first, second = (TokenVocabulary.from_dict(VOCABULARY.to_dict()) for _ in "ab")
    assert first == second and hash(first) == hash(second)
    encoding = vocabulary_encoding(first)
    assert vocabulary_encoding(first) is encoding
    assert vocabulary_encoding(second) is not encoding
    wanted = character_ids([["bank"]], second)
    del first, encoding
    np.testing.assert_array_equal(character_ids([["bank"]], second), wanted)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"words": "bank\nbank\n<oov>"}, "bank' twice"),
        ({"words": "bank\n\n<oov>"}, "none empty"),
        ({"words": "bank"}, "must have the entry <oov>"),
        ({"words": ["bank"]}, "one entry a line"),
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
    """Each in one line, wherever a description comes from."""
    with pytest.raises(ValueError, match=message) as error:
        TokenVocabulary.from_dict({**VOCABULARY.to_dict(), **change})
    assert "\n" not in str(error.value)
    options = LOOKED_UP.to_options()
    options["token_vocabulary"] |= change
    with pytest.raises(ValueError, match=f"^options: .*{message}"):
        type(LOOKED_UP).from_options(options)
