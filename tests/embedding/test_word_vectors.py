import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.embedding import embedder as embeddings
from keras_elmo.embedding.embedder import WordVectors
from tests.layers.layer_checks import numpy_of
from tests.models.small import char_ids, random_encoder

# One byte, many bytes, more than a word has room for, and the longest that fits.
WORDS = [b"a", "뱅크".encode(), b"x" * 48, b"x" * 49, b"x" * 47, b"bank", b"\x00", b"z"]


@pytest.fixture(scope="module")
def encoder():
    return random_encoder()


class Counted:
    """A character CNN that counts the words it is given."""

    def __init__(self, encoder):
        self._model, _ = embeddings._halves(encoder)
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


@settings(max_examples=25)
@given(
    sentences=st.lists(
        st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=4
    ),
    capacity=st.integers(1, 10),
)
def test_the_vectors_are_the_layer_s_whatever_is_kept(encoder, sentences, capacity):
    words = WordVectors(Counted(encoder), capacity)
    for start in range(len(sentences)):
        batch = sentences[start:]
        words.learn({word for sentence in batch for word in sentence})
        vectors, mask = words.look_up(batch)
        assert mask.sum(axis=1).tolist() == [len(sentence) + 2 for sentence in batch]
        for row, sentence in enumerate(batch):
            size = len(sentence) + 2
            assert mask[row, :size].all()
            # Rounded otherwise in products of other sizes: three units in the last
            # place of float32 were seen.
            np.testing.assert_allclose(
                vectors[row, :size],
                vectors_of(encoder, sentence),
                atol=1e-6,
                rtol=1e-6,
            )


def test_a_word_is_read_once(encoder):
    counted = Counted(encoder)
    words = WordVectors(counted, 100)
    words.learn({b"the", b"bank"})
    words.learn({b"the", b"river"})
    assert (counted.words, len(words)) == (3, 3)
    # The boundaries come with the first words.
    assert counted.passes == 2


def test_without_words_there_are_boundaries(encoder):
    words = WordVectors(Counted(encoder), 100)
    words.learn([])
    vectors, mask = words.look_up([[]])
    assert mask.tolist() == [[True, True]]
    np.testing.assert_allclose(vectors[0], vectors_of(encoder, []), atol=1e-6)


def test_no_more_is_kept_than_asked_for(encoder):
    counted = Counted(encoder)
    words = WordVectors(counted, 3)
    for word in "abcd":
        words.learn({word.encode()})
    assert len(words) == 1
    words.learn({b"a"})
    assert (counted.words, len(words)) == (5, 2)
    # More at once than are kept: they are there for as long as they are needed.
    words.learn(WORDS[:5])
    assert len(words) == 5
    assert words.look_up([WORDS[:5]])[0].shape[1] == 7
    words.learn({b"y"})
    assert len(words) == 1


def test_an_encoder_that_nobody_holds_is_let_go():
    encoder = random_encoder()
    list(embeddings.embed(encoder, [["the", "bank"]]))
    assert encoder in embeddings._HALVES
    held = weakref.ref(encoder)
    del encoder
    gc.collect()
    assert held() is None


def test_weights_may_change_between_two_calls(encoder):
    """What was compiled stays, what was computed does not."""
    other = random_encoder()
    (old,) = embeddings.embed(other, [["the", "bank"]])
    for weight in other.weights:
        weight.assign(weight * 0.5)
    (new,) = embeddings.embed(other, [["the", "bank"]])
    wanted = [numpy_of(layer)[0, 1:-1] for layer in other(char_ids([["the", "bank"]]))]
    assert not np.allclose(new, old, atol=1e-2)
    np.testing.assert_allclose(new, wanted, atol=1e-6)
