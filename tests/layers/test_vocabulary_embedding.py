"""The token embedding of words and characters that are looked up."""

import dataclasses

import numpy as np
import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.layers.vocabulary_embedding import VocabularyEmbedding
from keras_elmo.models.encoder import build_encoder
from keras_elmo.token_vocabulary import TokenVocabulary
from tests.helpers.layer_checks import check_layer, numpy_of
from tests.helpers.looked_up import (
    LOOKED_UP,
    SENTENCES,
    VOCABULARY,
    WORDS_ALONE,
    looked_up_ids,
    token_vectors,
)
from tests.helpers.small import randomise

IDS = looked_up_ids(SENTENCES, VOCABULARY)
MASK = IDS[..., 0] > 0


def test_contract(tmp_path):
    arguments = {
        "projection_units": 5,
        "num_words": len(VOCABULARY.words),
        "word_embedding_units": 4,
        "num_characters": len(VOCABULARY.characters),
        "filters": [[1, 3], [3, 4]],
        "num_highway_layers": 2,
        "char_embedding_units": 6,
        "activation": "tanh",
    }
    layer = check_layer(
        VocabularyEmbedding, arguments, [IDS], output_mask=MASK, path=tmp_path
    )
    assert (numpy_of(layer(IDS))[~MASK] == 0).all()


@pytest.mark.parametrize(
    ("words", "characters", "activation", "num_highway_layers"),
    [(4, True, "relu", 1), (4, False, "relu", 1), (0, True, "tanh", 2)],
)
def test_equals_the_oracle(words, characters, activation, num_highway_layers):
    """A projection of the word's row beside what the characters' CNN returns."""
    options = {"embedding": {"dim": 6}, "filters": [[1, 3], [8, 4]]}
    options |= {"activation": activation, "n_highway": num_highway_layers}
    layer = VocabularyEmbedding(
        projection_units=5,
        num_words=len(VOCABULARY.words) * bool(words),
        word_embedding_units=words,
        num_characters=len(VOCABULARY.characters) * characters,
        filters=options["filters"] if characters else (),
        num_highway_layers=num_highway_layers,
        char_embedding_units=6,
        activation=activation,
    )
    ids = IDS if words else IDS[..., 1:]
    layer.build(ids.shape)
    randomise(layer, np.random.default_rng(0))
    wanted = token_vectors(layer, ids[MASK], {"char_cnn": options})
    np.testing.assert_allclose(numpy_of(layer(ids))[MASK], wanted, atol=1e-5)


def test_words_alone_are_not_projected_in_vain():
    layer = VocabularyEmbedding(projection_units=4, num_words=3, word_embedding_units=4)
    vectors = numpy_of(layer(np.array([[[3], [1], [0]]])))
    assert layer.projection_kernel is None
    table = numpy_of(layer.word_embedding)
    np.testing.assert_array_equal(vectors, [[table[2], table[0], [0] * 4]])


def test_needs_something_to_look_up():
    with pytest.raises(ValueError, match="`num_words` or `num_characters`"):
        VocabularyEmbedding(projection_units=4)


CONFIGS = [
    LOOKED_UP,
    WORDS_ALONE,
    dataclasses.replace(WORDS_ALONE, projection_units=5),
    dataclasses.replace(LOOKED_UP, projection_units=19),
    dataclasses.replace(
        LOOKED_UP,
        word_embedding_units=0,
        token_vocabulary=TokenVocabulary(
            characters=VOCABULARY.characters, max_characters=9
        ),
        projection_units=15,
    ),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_config(config):
    """It counts the weights, and its options.json describes it."""
    assert build_encoder(config).count_params() == config.num_weights
    assert ElmoConfig.from_options(config.to_options()) == config


@pytest.mark.parametrize(
    "change, message",
    [
        ({"word_embedding_units": 0}, "`word_embedding_units` must be positive if"),
        ({"token_vocabulary": None}, "`word_embedding_units` must be positive if"),
        ({"token_vocabulary": {}}, "`token_vocabulary` must be a TokenVocabulary"),
        ({"filters": ()}, "`filters` must be 1 to 100 pairs"),
        ({"filters": ((9, 1),)}, "widths of 1 to 8"),
        ({"token_vocabulary": WORDS_ALONE.token_vocabulary}, "`filters` must be empty"),
    ],
)
def test_config_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(LOOKED_UP, **change)
