import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.embedding import word_cache
from keras_elmo.embedding.embedder import embed
from keras_elmo.embedding.word_cache import WordCache
from keras_elmo.text.plain_ids import PlainIds
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import char_ids, random_encoder

pytestmark = pytest.mark.graph


# One byte, many bytes, more than a word has room for, and the longest that fits.
WORDS = [b"a", "뱅크".encode(), b"x" * 48, b"x" * 49, b"x" * 47, b"bank", b"\x00", b"z"]


@pytest.fixture(scope="module")
def encoder():
    return random_encoder()


class Counted:
    """A character CNN that counts the words it is given."""

    def __init__(self, encoder):
        self._model, _ = word_cache.compiled_halves(encoder)
        self.words = 0
        self.passes = 0

    def predict_on_batch(self, inputs):
        # The boundaries and the padding aside.
        self.words += int((inputs[0][..., 0] > 0).sum()) - 2
        self.passes += 1
        return self._model.predict_on_batch(inputs)


def vectors_of(encoder, sentence):
    """The token layer's, of the layer itself; both its halves are the same."""
    ids = char_ids([[word.decode() for word in sentence]])
    return numpy_of(encoder(ids)[0])[0, :, : encoder.config.projection_units]


@settings(max_examples=15)
@given(
    batches=st.lists(
        st.lists(st.sampled_from(WORDS), max_size=6, unique=True),
        min_size=1,
        max_size=4,
    ),
    capacity=st.integers(1, 10),
    keep=st.booleans(),
)
def test_vectors(encoder, batches, capacity, keep):
    """They are those of the layer, whatever is cached."""
    cache = WordCache(Counted(encoder), PlainIds(), capacity=capacity)
    for words in batches:
        table = cache.vectors(words, keep)
        found = np.concatenate([table[:1], table[2:], table[1:2]])
        # Rounded otherwise in products of other sizes: three units in the last
        # place of float32 were seen.
        wanted = vectors_of(encoder, words)
        np.testing.assert_allclose(found, wanted, atol=1e-5, rtol=1e-5)


@pytest.fixture
def counted(encoder):
    return Counted(encoder)


def test_computed_once(counted):
    cache = WordCache(counted, PlainIds(), capacity=100)
    cache.vectors([b"the", b"bank"], keep=False)
    assert (counted.words, len(cache)) == (2, 0)
    cache.vectors([b"the", b"bank"], keep=True)
    cache.vectors([b"the", b"river"], keep=True)
    assert (counted.words, len(cache)) == (5, 3)
    # The boundaries come with the first words.
    assert counted.passes == 3


def test_boundaries_without_words(encoder, counted):
    """A sentence without a word has boundaries; they are computed once."""
    cache = WordCache(counted, PlainIds(), capacity=100)
    for _ in range(2):
        table = cache.vectors([], keep=True)
        np.testing.assert_allclose(table, vectors_of(encoder, []), atol=1e-5)
    assert counted.passes == 1


def test_capacity(counted):
    """The first words are kept; others are computed whenever they come."""
    cache = WordCache(counted, PlainIds(), capacity=3)
    cache.vectors([b"a", b"b"], keep=True)
    cache.vectors([b"c", b"d"], keep=True)
    assert (counted.words, len(cache)) == (4, 3)
    assert cache.vectors([b"a", b"b", b"c", b"d"], keep=True).shape[0] == 6
    assert (counted.words, len(cache)) == (5, 3)
    # More at once than are kept.
    assert len(cache.vectors(WORDS, keep=True)) == 2 + len(WORDS)


def test_encoder_is_released():
    """What is compiled for an encoder that nobody holds is not kept."""
    encoder = random_encoder()
    list(embed(encoder, [["the", "bank"]]))
    assert encoder in word_cache._COMPILED
    held = weakref.ref(encoder)
    del encoder
    gc.collect()
    assert held() is None


def test_weights_change_between_calls():
    """What was compiled is used again, what was computed is not."""
    other = random_encoder()
    (old,) = embed(other, [["the", "bank"]])
    for weight in other.weights:
        weight.assign(weight * 0.5)
    (new,) = embed(other, [["the", "bank"]])
    wanted = [numpy_of(layer)[0, 1:-1] for layer in other(char_ids([["the", "bank"]]))]
    assert not np.allclose(new, old, atol=1e-2)
    np.testing.assert_allclose(new, wanted, atol=1e-5)
