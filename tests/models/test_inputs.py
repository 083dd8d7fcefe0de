"""What ElmoEmbedding may be called with."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.text.tokenizer import Tokenizer
from tests.layers.layer_checks import numpy_of
from tests.models.small import char_ids, random_encoder

pytestmark = pytest.mark.graph

TOKENS = [["The", "bank", "closed"], ["배"], []]
TEXT = [" ".join(tokens) for tokens in TOKENS]
PADDED = [tokens + [""] * (3 - len(tokens)) for tokens in TOKENS]
INPUTS = {
    "list of text": TEXT,
    "text": tf.constant(TEXT),
    "NumPy's text": np.array(TEXT),
    "NumPy's objects": np.array(TEXT, object),
    "NumPy's strings of any length": np.array(TEXT, np.dtypes.StringDType()),
    "lists of words": TOKENS,
    "words": tf.constant(PADDED),
    "NumPy's words": np.array(PADDED),
    "ragged words": tf.ragged.constant(TOKENS),
    "lists of ids": char_ids(TOKENS).tolist(),
}


@pytest.fixture(scope="module")
def layer():
    return ElmoEmbedding(random_encoder())


@pytest.fixture(scope="module")
def wanted(layer):
    return numpy_of(layer(char_ids(TOKENS)))


@pytest.mark.parametrize("name", INPUTS)
def test_eager(name, layer, wanted):
    """Text, words and ids have the same vectors, and the same mask."""
    found = layer(INPUTS[name])
    np.testing.assert_allclose(numpy_of(found), wanted, atol=1e-5)
    mask = [[True] * 3, [True, False, False], [True, False, False]]
    np.testing.assert_array_equal(numpy_of(found._keras_mask), mask)


@pytest.mark.parametrize(("shape", "name"), [((), "text"), ((None,), "words")])
def test_in_a_model(shape, name, layer, wanted, tmp_path):
    """A string input makes a model of text or of words, which a file holds."""
    strings = keras.Input(shape, dtype="string")
    model = keras.Model(strings, layer(strings))
    model.save(tmp_path / "model.keras")
    for each in (model, keras.saving.load_model(tmp_path / "model.keras")):
        found = numpy_of(each(INPUTS[name]))
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_one_column():
    """A column has words, in every call; `Tokenizer` takes it for text."""
    layer = ElmoEmbedding(random_encoder())
    layer.encoder.tokenizer = "unicode"
    column = [["don't"], ["e-mail"]]
    beside = numpy_of(layer([*column, ["a", "longer", "row"]]))[:2, :1]
    models = [
        keras.Model(strings, layer(strings))
        for strings in (keras.Input(shape, dtype="string") for shape in ((1,), (None,)))
    ]
    for call in (layer, *models):
        for words in (tf.constant(column), np.array(column, object)):
            np.testing.assert_allclose(numpy_of(call(words)), beside, atol=1e-5)
    text = keras.Input((1,), dtype="string")
    model = keras.Model(text, layer(Tokenizer("unicode")(text)))
    assert model(tf.constant(column)).shape[1] == 3
    assert layer(tf.constant(["don't"])).shape[1] == 3


def test_sequential(layer, wanted):
    model = keras.Sequential([keras.Input((), dtype="string"), layer])
    np.testing.assert_allclose(
        model.predict(INPUTS["text"], verbose=0), wanted, atol=1e-5
    )


def test_dataset(layer):
    """Ids are made in the input pipeline, for a model that XLA compiles."""
    dataset = tf.data.Dataset.from_tensors(tf.constant(TEXT)).map(layer.char_ids)
    (ids,) = dataset
    np.testing.assert_array_equal(ids, char_ids(TOKENS))


@pytest.mark.parametrize(
    "inputs", ["text", np.zeros((2, 50), "int32"), tf.constant([[["a"]]]), [[["a"]]]]
)
def test_wrong_rank(inputs, layer):
    with pytest.raises(ValueError, match="`inputs` must be text .*Received"):
        layer(inputs)


def test_few_rows(layer):
    """A mask is one row of a model's summary."""
    text = keras.Input((), dtype="string")
    pooled = keras.layers.GlobalAveragePooling1D()(layer(text))
    names = [type(each).__name__ for each in keras.Model(text, pooled).operations]
    assert sorted(names) == [
        "CharacterIds",
        "CharacterMask",
        "ElmoEmbedding",
        "GlobalAveragePooling1D",
        "InputLayer",
        "Tokenizer",
    ]
