from types import SimpleNamespace

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
    batch = word_cache._batch

    def noted(*arguments):
        vectors, mask = batch(*arguments)
        shapes.append(mask.shape)
        return [vectors, mask]

    monkeypatch.setattr(word_cache, "_batch", noted)
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


RAGGED = tf.ragged.constant(SENTENCES, tf.string)
FORMS = {
    "texts": TEXTS,
    "bytes": [text.encode() for text in TEXTS],
    "texts and tokens": [TEXTS[0], *SENTENCES[1:3], TEXTS[3], SENTENCES[4]],
    "tensors": [tf.constant(TEXTS[0]), *map(tf.constant, SENTENCES[1:])],
    "a tensor": tf.constant(TEXTS),
    "a ragged tensor": RAGGED,
    "a padded tensor": RAGGED.to_tensor(""),
    "NumPy's objects": np.array(TEXTS, object),
    "a dataset": tf.data.Dataset.from_tensor_slices(TEXTS),
    "batches of texts": tf.data.Dataset.from_tensor_slices(TEXTS).batch(2),
    "an iterator of batches": iter(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2)),
    "batches of words": [tf.constant([SENTENCES[0]]), RAGGED[1:].to_tensor("")],
    "ragged batches": tf.data.Dataset.from_tensor_slices(RAGGED).ragged_batch(2),
    "rows of a ragged tensor": tf.data.Dataset.from_tensor_slices(RAGGED),
    "padded batches": tf.data.Dataset.from_tensors(RAGGED.to_tensor("")),
    "scalars": [tf.constant(TEXTS[0]), np.array(TEXTS[1]), *SENTENCES[2:]],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form, encoder, wanted):
    """Text is split as the model's own; tensors are read row by row."""
    assert_vectors(embed(encoder, FORMS[form]), wanted)


def test_one_column(encoder):
    """A column has words, not texts."""
    other = encoder.with_dtype("float32")
    other.tokenizer = "unicode"
    column = [["don't"], ["e-mail"]]
    for words in (column, np.array(column), tf.constant(column)):
        assert [vectors.shape[1] for vectors in embed(other, words)] == [1, 1]


def test_one_text(encoder, wanted):
    """A string is a sentence, not a list of letters."""
    for text in (TEXTS[0], TEXTS[0].encode(), tf.constant(TEXTS[0])):
        assert_vectors(embed(encoder, text), wanted[:1])


def test_tokenizer(encoder):
    """The tokenizer is that of the training text, unless another is given."""
    other = encoder.with_dtype("float32")
    other.tokenizer = "unicode"
    lengths = [next(embed(e, ["Don't go."])).shape[1] for e in (encoder, other)]
    assert lengths == [2, 5]
    (vectors,) = embed(other, ["Don't go."], tokenizer="treebank")
    assert vectors.shape[1] == 4
    with pytest.raises(ValueError, match="`tokenizer` must be None, 'unicode', "):
        embed(other, ["Don't go."], tokenizer="words")


def test_pooling(encoder, wanted):
    """One vector a sentence, of each layer or of their mix."""
    elmo = ElmoEmbedding(encoder)
    elmo.mixes[0].scalars.assign([0.5, -1.0, 2.0])
    elmo.mixes[0].gamma.assign(1.5)
    shares, gamma = elmo.mix_weights[0]
    layers, size = SHAPE_OF_ONE
    for pooling, reduce in (("mean", np.mean), ("max", np.max)):
        expected = [
            reduce(each, axis=1) if each.size else np.zeros((layers, size))
            for each in wanted
        ]
        found = embed(encoder, SENTENCES, pooling=pooling)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert found.dtype == np.float32
    mixes = {
        "the average": (encoder, np.full(layers, 1 / layers)),
        "a trained one": (elmo, gamma * shares),
    }
    for name, (model, weights) in mixes.items():
        found = embed(model, TEXTS, pooling="mean", layers="mix")
        expected = [np.tensordot(weights, each, axes=1) for each in wanted]
        np.testing.assert_allclose(
            found,
            [each.mean(axis=0) if each.size else np.zeros(size) for each in expected],
            atol=1e-5,
            err_msg=name,
        )
        mixed = list(embed(model, TEXTS, layers="mix"))
        assert_vectors(mixed, expected)
    assert embed(encoder, [], pooling="mean").shape == (0, layers, size)
    assert embed(encoder, [], pooling="mean", layers="mix").shape == (0, size)


def test_refused(encoder):
    for sentences in ([1, 2], [["a", 1]], [None], [[["a"]]], [bytearray(b"a")]):
        with pytest.raises(TypeError, match="`sentences` must hold .*Received"):
            list(embed(encoder, sentences))
    labelled = tf.data.Dataset.from_tensor_slices((TEXTS, np.arange(5)))
    for sentences, said in (
        (None, "a single object"),
        (3, "a single object"),
        ({"text": TEXTS}, "a dictionary"),
        (set(TEXTS), "a set"),
        (bytearray(b"a"), "a buffer"),
        (SimpleNamespace(columns=["text"]), r"pass a column .*frame\['text'\]"),
        (np.zeros((2, 2), "int32"), "an array of numbers"),
        (tf.constant([[["a"]]]), "an array of 3 axes"),
        (labelled, "a dataset of more than strings"),
        (labelled.map(lambda text, label: label), "a dataset of more than strings"),
    ):
        with pytest.raises(TypeError, match=f"`sentences` must be .*{said}.*Received"):
            embed(encoder, sentences)
    with pytest.raises(ValueError, match="`layers` must be 'all' or 'mix'"):
        embed(encoder, TEXTS, layers="top")
    with pytest.raises(ValueError, match="`pooling` must be None, 'mean' or 'max'"):
        embed(encoder, TEXTS, pooling="cls")
    with pytest.raises(ValueError, match="`layers` must be 'all' for this model"):
        embed(ElmoEmbedding(encoder, layer_norm=True), TEXTS, layers="mix")


@pytest.mark.parametrize("sentence", [["a", "", "b"], [b"", b"a"]])
def test_empty_token(sentence, encoder):
    """Empty tokens are padding at the end of a row, in any form, and errors before."""
    with pytest.raises(ValueError, match="tokens that are not empty"):
        list(embed(encoder, [["fine"], sentence]))
    with pytest.raises(ValueError, match="tokens that are not empty"):
        list(embed(encoder, tf.constant([sentence])))
    (wanted,) = embed(encoder, [["a", "b"]])
    for row in (["a", "b", ""], (b"a", b"b", b""), np.array(["a", "b", ""])):
        np.testing.assert_array_equal(next(embed(encoder, [row])), wanted)


def test_batch_size(encoder):
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        list(embed(encoder, SENTENCES, batch_size=0))


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
