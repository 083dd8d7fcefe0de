import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import CharacterIds, ElmoEmbedding, StaticEmbedding, Tokenizer
from keras_elmo.text.plain_ids import StaticIds
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import SMALLER, random_encoder

pytestmark = pytest.mark.graph

TOKENS = [
    ["the", "The", "배", "zebra", "Seoul"],
    ["zebra", "the", "", "", ""],
    [""] * 5,
]
THE, BAE, SEOUL, NONE = [1, 2], [3, 4], [5, 6], [0, 0]
VECTORS = [[THE, THE, BAE, NONE, SEOUL], [NONE, THE, NONE, NONE, NONE], [NONE] * 5]
MASK = [[True] * 5, [True, True] + [False] * 3, [True] + [False] * 4]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "vectors.vec"
    path.write_text("3 2\nthe 1 2\n배 3 4\nSeoul 5 6\n", encoding="utf-8")
    return path


def test_vectors_of_known_words(path):
    layer = StaticEmbedding.from_file(path)
    np.testing.assert_array_equal(numpy_of(layer(TOKENS)), VECTORS)
    np.testing.assert_array_equal(numpy_of(layer.compute_mask(TOKENS)), MASK)
    # "seoul" is not the same word as the one with a capital.
    np.testing.assert_array_equal(numpy_of(layer([["seoul"]])), [[NONE]])
    assert not layer.trainable_variables
    layer = StaticEmbedding.from_file(path, max_words=2)
    assert layer.words == ["the", "배"]
    np.testing.assert_array_equal(numpy_of(layer([["배", "Seoul"]])), [[BAE, NONE]])


def test_ids_are_as_good_as_words(path):
    layer = StaticEmbedding.from_file(path)
    batches = tf.data.Dataset.from_tensors(TOKENS).map(layer.ids)
    (ids,) = batches
    np.testing.assert_array_equal(
        ids, [[2, 2, 3, 1, 4], [1, 2, 0, 0, 0], [0, 0, 0, 0, 0]]
    )
    words = [[word.encode() for word in row if word] for row in TOKENS]
    np.testing.assert_array_equal(StaticIds(layer.words)(words, 5), ids)
    np.testing.assert_array_equal(numpy_of(layer(ids)), VECTORS)
    np.testing.assert_array_equal(numpy_of(layer.compute_mask(ids)), MASK)


def classifier(static, with_elmo=True):
    """`[x; ELMo]` and a pooling that respects the mask."""
    text = keras.Input((), dtype="string")
    tokens = Tokenizer("whitespace")(text)
    words = static(tokens)
    if with_elmo:
        elmo = ElmoEmbedding(random_encoder(SMALLER))(CharacterIds()(tokens))
        words = keras.layers.Concatenate()([words, elmo])
    words = keras.layers.Dropout(0.1)(words)
    pooled = keras.layers.GlobalAveragePooling1D()(words)
    model = keras.Model(text, keras.layers.Dense(2, activation="softmax")(pooled))
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


TEXTS = ["the 배", "", "Seoul zebra the the"]


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(("trainable", "with_elmo"), [(False, False), (True, True)])
def test_in_a_model(path, trainable, with_elmo):
    static = StaticEmbedding.from_file(path, trainable=trainable)
    before = numpy_of(static.vectors)
    model = classifier(static, with_elmo)
    alone = [numpy_of(model(tf.constant([text])))[0] for text in TEXTS]
    together = model.predict(tf.constant(TEXTS), verbose=0)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    model.fit(tf.constant(TEXTS), np.array([0, 1, 1]), epochs=2, verbose=0)
    moved = (numpy_of(static.vectors) != before).any(axis=1)
    # Padding; then unknown, the, 배, Seoul, which stand in the texts.
    assert moved.tolist() == [False, *[trainable] * 4]


@pytest.mark.usefixtures("eagerly")
def test_saved_model(path, tmp_path):
    """A saved model needs no other file."""
    model = classifier(StaticEmbedding.from_file(path, trainable=True))
    model.fit(tf.constant(TEXTS), np.array([0, 1, 1]), verbose=0)
    expected = model.predict(tf.constant(TEXTS), verbose=0)
    model.save(tmp_path / "model.keras")
    model.export(tmp_path / "exported", verbose=False)
    path.unlink()
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        loaded.predict(tf.constant(TEXTS), verbose=0), expected
    )
    exported = tf.saved_model.load(tmp_path / "exported")
    np.testing.assert_allclose(exported.serve(tf.constant(TEXTS)), expected, atol=1e-5)


def test_policy():
    """Variables and results follow the dtype policy, though strings come first."""
    layer = StaticEmbedding(["a", "b"], 3, trainable=True, dtype="mixed_bfloat16")
    assert layer([["a"]]).dtype == "bfloat16"
    assert layer(keras.Input((None,), dtype="string")).dtype == "bfloat16"
    assert layer.vectors.dtype == "float32"
    model = keras.Sequential([StaticEmbedding(["a"], 3), keras.layers.Dense(1)])
    assert model.predict(tf.constant([["a", "b"]]), verbose=0).shape == (1, 2, 1)


def test_shapes_are_known_before_the_words_are():
    layer = StaticEmbedding(["a", "b"], 3)
    for dtype in ("string", "int32"):
        output = layer(keras.Input((None,), dtype=dtype))
        assert (output.shape, output.dtype) == ((None, None, 3), "float32")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("the", "`words` must be a list of words"),
        ([], "must hold words that are not empty"),
        (["a", ""], "must hold words that are not empty"),
        (["a", "b", "a"], "must hold no word twice"),
    ],
)
def test_words_that_do_not_fit(words, message):
    with pytest.raises((TypeError, ValueError), match=message):
        StaticEmbedding(words, 3)


@pytest.mark.parametrize("tokens", [["a"], np.ones(3, "int32")])
def test_one_axis_is_no_batch(tokens):
    with pytest.raises(ValueError, match="`tokens` must have 2 axes"):
        StaticEmbedding(["a"], 3)(tokens)


@pytest.mark.parametrize("row", [["", "the"], ["the", "", "the"]], ids=str)
def test_empty_string_before_a_token(row):
    layer = StaticEmbedding(["the"], 3)
    for call in (layer, layer.ids, layer.compute_mask):
        with pytest.raises(ValueError, match="at the end of a row"):
            call(tf.constant([row]))
