import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.embedding import embedder as embeddings
from keras_elmo.embedding import word_cache
from keras_elmo.embedding.embedder import embed
from tests.helpers import numpy_reference
from tests.helpers.small import CONFIG, SENTENCES, published, random_encoder

pytestmark = pytest.mark.graph

TEXTS = [" ".join(tokens) for tokens in SENTENCES]
NUM_LAYERS, UNITS = CONFIG.num_layers + 1, 2 * CONFIG.projection_units


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


def lengths(*arguments, **options):
    return [vectors.shape[1] for vectors in embed(*arguments, **options)]


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_embed(batch_size, encoder, wanted):
    """Every sentence has the vectors of the oracle, in its place."""
    found = list(embed(encoder, SENTENCES, batch_size))
    assert_vectors(found, wanted)
    assert found[2].shape == (NUM_LAYERS, 0, UNITS)
    assert list(embed(encoder, [], batch_size)) == []


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
    batch = word_cache._batch

    def noted(*arguments):
        vectors, mask = batch(*arguments)
        shapes.append(mask.shape)
        return [vectors, mask]

    monkeypatch.setattr(word_cache, "_batch", noted)
    sentences = [["bank"]] * 6 + [["the"] * 18] + [["bank"]]
    assert lengths(encoder, sentences) == [1] * 6 + [18, 1]
    assert shapes and max(rows * positions for rows, positions in shapes) <= 40


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


FORMS = {
    "texts": TEXTS,
    "tuples of bytes": [tuple(map(str.encode, tokens)) for tokens in SENTENCES],
    "a dataset": tf.data.Dataset.from_tensor_slices(TEXTS),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form, encoder, wanted):
    """What `read_sentences` reads."""
    assert_vectors(embed(encoder, FORMS[form]), wanted)


def test_tokenizer(encoder, monkeypatch):
    """Text is split as the training text was, unless a tokenizer is given."""
    assert lengths(encoder, ["Don't go."]) == [2]
    monkeypatch.setattr(encoder, "tokenizer", "unicode")
    assert lengths(encoder, ["Don't go."]) == [5]
    assert lengths(encoder, ["Don't go."], tokenizer="treebank") == [4]


def test_pooling(encoder, wanted):
    """One vector per sentence, for each layer or for their mix."""
    elmo = ElmoEmbedding(encoder)
    elmo.mixes[0].scalars.assign([0.5, -1.0, 2.0])
    elmo.mixes[0].gamma.assign(1.5)
    shares, gamma = elmo.mix_weights[0]
    for pooling, reduce in (("mean", np.mean), ("max", np.max)):
        expected = [
            reduce(layers, axis=1) if layers.size else np.zeros((NUM_LAYERS, UNITS))
            for layers in wanted
        ]
        found = embed(encoder, SENTENCES, pooling=pooling)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert found.dtype == np.float32
    average = np.full(NUM_LAYERS, 1 / NUM_LAYERS)
    for model, weights in ((encoder, average), (elmo, gamma * shares)):
        mixed = [np.tensordot(weights, layers, axes=1) for layers in wanted]
        assert_vectors(embed(model, TEXTS, layers="mix"), mixed)
        found = embed(model, TEXTS, pooling="mean", layers="mix")
        expected = [vectors.sum(axis=0) / max(len(vectors), 1) for vectors in mixed]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert embed(encoder, [], pooling="mean").shape == (0, NUM_LAYERS, UNITS)
    assert embed(encoder, [], pooling="mean", layers="mix").shape == (0, UNITS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layers": "top"}, "`layers` must be 'all' or 'mix'"),
        ({"pooling": "cls"}, "`pooling` must be None, 'mean' or 'max'"),
        ({"tokenizer": "words"}, "`tokenizer` must be None, 'unicode', "),
        ({"batch_size": 0}, "`batch_size` must be at least 1"),
        ({"sentences": 3}, "`sentences` must be .* not a single object"),
    ],
)
def test_refused_options(options, said, encoder):
    with pytest.raises((TypeError, ValueError), match=said):
        embed(encoder, **{"sentences": TEXTS, **options})


def test_refused_mix(encoder):
    with pytest.raises(ValueError, match="`layers` must be 'all' for this model"):
        embed(ElmoEmbedding(encoder, layer_norm=True), TEXTS, layers="mix")


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
