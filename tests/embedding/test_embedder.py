import numpy as np
import pytest

from keras_elmo.embedding import embedder as embeddings
from keras_elmo.embedding.embedder import embed
from tests import numpy_reference
from tests.models.small import CONFIG, SENTENCES, published, random_encoder

pytestmark = pytest.mark.graph

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
def test_embed(batch_size, encoder, wanted):
    """Every sentence has the vectors of the oracle, in its place."""
    found = list(embed(encoder, SENTENCES, batch_size))
    assert_vectors(found, wanted)
    layers, size = SHAPE_OF_ONE
    assert found[2].shape == (layers, 0, size)


def test_windows(encoder, wanted, monkeypatch):
    """The order is kept over windows of any size."""
    monkeypatch.setattr(embeddings, "_WINDOW_BATCHES", 2)
    monkeypatch.setattr(embeddings, "_MAX_POSITIONS", 12)
    order = [0, 1, 2, 3, 4, 4, 1, 2, 0, 3, 3, 1, 0]
    found = embed(encoder, (SENTENCES[k] for k in order), batch_size=2)
    assert_vectors(found, [wanted[k] for k in order])


def test_long_sentence(encoder, monkeypatch):
    """Padding is bounded: 128 rows of 10,000 words would be gigabytes."""
    monkeypatch.setattr(embeddings, "_MAX_POSITIONS", 40)
    shapes = []
    batch = embeddings._batch

    def noted(*arguments):
        vectors, mask = batch(*arguments)
        shapes.append(mask.shape)
        return [vectors, mask]

    monkeypatch.setattr(embeddings, "_batch", noted)
    sentences = [["bank"]] * 6 + [["the"] * 18] + [["bank"]]
    found = [vectors.shape[1] for vectors in embed(encoder, sentences)]
    assert found == [1] * 6 + [18, 1]
    assert shapes and max(rows * positions for rows, positions in shapes) <= 40


def test_bytes_and_tuples(encoder, wanted):
    sentences = [tuple(token.encode() for token in tokens) for tokens in SENTENCES]
    assert_vectors(embed(encoder, sentences), wanted)


def test_no_sentences(encoder):
    assert list(embed(encoder, [])) == []


def test_endless_stream(encoder):
    """Sentences are read as they are needed."""

    def endless():
        while True:
            yield ["the", "bank"]

    found = embed(encoder, endless(), batch_size=1)
    assert [next(found).shape[1] for _ in range(3)] == [2, 2, 2]


def test_bfloat16(encoder):
    """Vectors are float32, whatever computes them."""
    (wanted,) = embed(encoder, [["the", "bank"]])
    (found,) = embed(encoder.with_dtype("bfloat16"), [["the", "bank"]])
    assert found.dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=0.1)


@pytest.mark.parametrize("sentence", ["a bank", b"a bank"])
def test_string_is_no_sentence(sentence, encoder):
    with pytest.raises(TypeError, match="`sentences` must hold lists of tokens"):
        list(embed(encoder, [["fine"], sentence]))


@pytest.mark.parametrize("sentence", [["a", ""], [b"", b"a"]])
def test_empty_token(sentence, encoder):
    """The last would get the vector of the sentence's end."""
    with pytest.raises(ValueError, match="tokens that are not empty"):
        list(embed(encoder, [["fine"], sentence]))


def test_batch_size(encoder):
    with pytest.raises(ValueError, match="`batch_size` must be positive"):
        list(embed(encoder, SENTENCES, batch_size=0))


def test_mix(encoder):
    """The weighted sum of the layers."""
    weights = np.array([0.5, 0.25, -1.5], "float32")
    mixed = embeddings.Embedder(encoder).embed(SENTENCES, 2, weights)
    for found, layers in zip(mixed, embed(encoder, SENTENCES, 2), strict=True):
        assert found.dtype == np.float32
        expected = np.tensordot(weights, layers, axes=1)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_window_bits(encoder):
    """A window's vectors depend on the cached words and on itself, to the bit."""
    cached, *windows = ([s] for s in ([b"a", b"b"], [b"c", b"a"], [b"d"], [b"c"]))

    def vectors(order):
        embedder = embeddings.Embedder(encoder)
        embedder.cache_words(cached)
        return {
            k: embedder.embed_window(windows[k], 2, keep_words=False)[0].tobytes()
            for k in order
        }

    whole = vectors([0, 1, 2])
    assert vectors([2, 1, 0]) == whole
    assert vectors([1]).items() <= whole.items()
