import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding, unique_words
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import check_layer, numpy_of
from tests.helpers.small import options_of, randomise, weights_of

pytestmark = pytest.mark.graph

SENTENCES = [["a", "bank", "a"], ["배", "x" * 70], []]


def char_ids(sentences):
    rows = [numpy_reference.character_ids(tokens) for tokens in sentences]
    return numpy_reference.pad(rows).astype("int32")


def test_contract(tmp_path):
    arguments = {
        "filters": [[1, 3], [3, 4]],
        "projection_units": 5,
        "num_highway_layers": 2,
        "char_embedding_units": 6,
        "activation": "tanh",
        "num_characters": 263,
    }
    ids = char_ids(SENTENCES)
    mask = ids[..., 0] > 0
    assert mask.sum(axis=1).tolist() == [5, 4, 2]
    layer = check_layer(
        CharCNNEmbedding, arguments, [ids], output_mask=mask, path=tmp_path
    )
    assert (numpy_of(layer(ids))[~mask] == 0).all()


@settings(max_examples=15)
@given(
    sentences=st.lists(
        st.lists(st.text(max_size=4), max_size=3), min_size=1, max_size=3
    ),
    filters=st.lists(
        st.tuples(st.sampled_from([1, 2, 5, 50]), st.integers(1, 4)),
        min_size=1,
        max_size=3,
    ),
    projection_units=st.integers(1, 6),
    num_highway_layers=st.integers(0, 2),
    activation=st.sampled_from(["relu", "tanh"]),
    seed=st.integers(0, 99),
)
def test_equals_the_oracle(
    sentences, filters, projection_units, num_highway_layers, activation, seed
):
    layer = CharCNNEmbedding(
        filters,
        projection_units,
        num_highway_layers,
        char_embedding_units=3,
        activation=activation,
    )
    layer.build((None, None, 50))
    randomise(layer, np.random.default_rng(seed))
    options, weights = options_of(layer), weights_of(layer)
    found = numpy_of(layer(char_ids(sentences)))
    for row, tokens in zip(found, sentences, strict=True):
        ids = numpy_reference.character_ids(tokens)
        expected = numpy_reference.token_embeddings(ids, options, weights)
        np.testing.assert_allclose(row[: len(ids)], expected, atol=1e-5)
        assert (row[len(ids) :] == 0).all()


@pytest.mark.parametrize("projection_units", [7, 8])
def test_no_projection(projection_units):
    """The projection is absent where the sizes agree."""
    layer = CharCNNEmbedding([(1, 3), (2, 4)], projection_units)
    layer.build((None, None, 50))
    projected = [w.name for w in layer.weights if "projection" in w.name]
    assert len(projected) == (0 if projection_units == 7 else 2)
    assert layer(char_ids(SENTENCES)).shape == (3, 5, projection_units)


@pytest.mark.parametrize("rows", [0, 2])
def test_no_words(rows):
    """No sentences, and masked positions alone, of any integer type."""
    layer = CharCNNEmbedding([(1, 3), (2, 4)], 5)
    found = numpy_of(layer(np.zeros((rows, 3, 50), "int64")))
    np.testing.assert_array_equal(found, np.zeros((rows, 3, 5)))


def test_published_initialisers():
    layer = CharCNNEmbedding([(1, 30), (7, 400)], 5)
    layer.build((None, None, 50))
    embedding = numpy_of(layer.char_embedding)
    assert embedding.shape == (262, 16)
    assert 0.95 < np.abs(embedding).max() <= 1
    assert embedding.std() == pytest.approx(3**-0.5, rel=0.05)
    kernel = numpy_of(layer.kernels[1])
    assert 0.045 < np.abs(kernel).max() <= 0.05
    assert not any(numpy_of(bias).any() for bias in layer.biases)
    np.testing.assert_array_equal(numpy_of(layer.highways[0].carry_bias), -2)


@pytest.mark.parametrize(
    ("argument", "value"), [("activation", "gelu"), ("filters", [])]
)
def test_bad_arguments(argument, value):
    arguments = {"filters": [(1, 2)], "projection_units": 2, argument: value}
    with pytest.raises(ValueError, match=f"`{argument}` must .*Received"):
        CharCNNEmbedding(**arguments)


@settings(max_examples=50, deadline=None)
@given(
    char_ids=arrays.arrays(
        "int32", st.tuples(st.integers(0, 6), st.just(9)), elements=st.integers(0, 2)
    ),
    tail=st.integers(0, 9),
    widest=st.integers(1, 9),
)
def test_unique_words(char_ids, tail, widest):
    """Words come back but for what no window can tell."""
    char_ids[:, 9 - tail :] = 2
    words, positions = numpy_of(unique_words(char_ids, widest))
    assert len(np.unique(words, axis=0)) == len(words) <= len(char_ids) + 1
    kept = words.shape[1]
    assert widest <= kept <= max(widest, 9)
    np.testing.assert_array_equal(words[positions], char_ids[:, :kept])
    # What is cut off goes on as the last whole window does.
    last = char_ids[:, kept - widest :]
    assert kept == 9 or (last == last[:, :1]).all()


def test_unique_words_once():
    char_ids = np.array([[1, 2, 9, 9], [3, 9, 9, 9], [1, 2, 9, 9]], "int32")
    words, positions = numpy_of(unique_words(char_ids, 1))
    # The masked word, and the two others, up to the first end of all words.
    assert words.tolist() == [[0, 0, 0], [1, 2, 9], [3, 9, 9]]
    assert positions.tolist() == [1, 2, 1]
    # A batch without words has one to embed.
    words, positions = numpy_of(unique_words(np.zeros((0, 50), "int32"), 5))
    assert words.shape == (1, 5) and positions.shape == (0,)
