import numpy as np
import pytest

from keras_elmo.embedding import embedder as embeddings
from keras_elmo.embedding.embedder import embed
from tests import numpy_reference
from tests.models.small import CONFIG, SENTENCES, published, random_encoder

SHAPE_OF_ONE = CONFIG.num_layers + 1, 2 * CONFIG.projection_units


@pytest.fixture(scope="module")
def encoder():
    return random_encoder()


@pytest.fixture(scope="module")
def wanted(encoder):
    """Each sentence's layers, from the oracle."""
    options, weights = published(encoder)
    return [
        np.stack(numpy_reference.encode(tokens, options, weights)[0])[:, 1:-1]
        for tokens in SENTENCES
    ]


def assert_vectors(found, wanted):
    for vectors, expected in zip(found, wanted, strict=True):
        assert vectors.dtype == np.float32
        assert vectors.shape == expected.shape
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_every_sentence_in_its_place(batch_size, encoder, wanted):
    found = list(embed(encoder, SENTENCES, batch_size))
    assert_vectors(found, wanted)
    layers, size = SHAPE_OF_ONE
    assert found[2].shape == (layers, 0, size)


def test_the_order_is_kept_over_windows_of_any_size(encoder, wanted, monkeypatch):
    monkeypatch.setattr(embeddings, "_WINDOW_BATCHES", 2)
    monkeypatch.setattr(embeddings, "_MAX_POSITIONS", 12)
    order = [0, 1, 2, 3, 4, 4, 1, 2, 0, 3, 3, 1, 0]
    found = embed(encoder, (SENTENCES[k] for k in order), batch_size=2)
    assert_vectors(found, [wanted[k] for k in order])


def test_one_long_sentence_does_not_widen_a_whole_batch(encoder, monkeypatch):
    """What it would pad is bounded: 128 rows of 10,000 words are gigabytes."""
    monkeypatch.setattr(embeddings, "_MAX_POSITIONS", 40)
    shapes = []
    look_up = embeddings.WordVectors.look_up

    def noted(words, sentences):
        vectors, mask = look_up(words, sentences)
        shapes.append(mask.shape)
        return vectors, mask

    monkeypatch.setattr(embeddings.WordVectors, "look_up", noted)
    sentences = [["bank"]] * 6 + [["the"] * 18] + [["bank"]]
    found = [vectors.shape[1] for vectors in embed(encoder, sentences)]
    assert found == [1] * 6 + [18, 1]
    assert shapes and max(rows * positions for rows, positions in shapes) <= 40


def test_tokens_may_be_bytes_and_sentences_tuples(encoder, wanted):
    sentences = [tuple(token.encode() for token in tokens) for tokens in SENTENCES]
    assert_vectors(embed(encoder, sentences), wanted)


def test_no_sentence_gives_no_vectors(encoder):
    assert list(embed(encoder, [])) == []


def test_sentences_are_read_as_they_are_needed(encoder):
    """An endless stream will do."""

    def endless():
        while True:
            yield ["the", "bank"]

    found = embed(encoder, endless(), batch_size=1)
    assert [next(found).shape[1] for _ in range(3)] == [2, 2, 2]


def test_vectors_are_float32_whatever_computes_them(encoder):
    (wanted,) = embed(encoder, [["the", "bank"]])
    (found,) = embed(encoder.with_dtype("bfloat16"), [["the", "bank"]])
    assert found.dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=0.1)


@pytest.mark.parametrize("sentence", ["a bank", b"a bank"])
def test_a_string_is_no_list_of_tokens(sentence, encoder):
    with pytest.raises(TypeError, match="`sentences` must hold lists of tokens"):
        list(embed(encoder, [["fine"], sentence]))


@pytest.mark.parametrize("sentence", [["a", ""], [b"", b"a"]])
def test_a_token_is_not_empty(sentence, encoder):
    """The last would get the vector of the sentence's end."""
    with pytest.raises(ValueError, match="tokens that are not empty"):
        list(embed(encoder, [["fine"], sentence]))


def test_a_batch_has_a_size(encoder):
    with pytest.raises(ValueError, match="`batch_size` must be positive"):
        list(embed(encoder, SENTENCES, batch_size=0))
