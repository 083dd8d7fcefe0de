"""What ElmoEmbedding may be called with."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.models.pretraining import LanguageModelHead
from keras_elmo.text.character_ids import CharacterIds
from keras_elmo.text.tokenizer import Tokenizer
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import SMALLER, char_ids, random_encoder

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
    layer = ElmoEmbedding(random_encoder(SMALLER))
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


@pytest.mark.parametrize(
    ("name", "first", "policy"),
    [
        ("text", [keras.Input((), dtype="string")], "float32"),
        ("text", [Tokenizer("whitespace")], "float32"),
        ("ragged words", [], "float32"),
        ("ids", [], "mixed_bfloat16"),
    ],
    ids=str,
)
def test_sequential(name, first, policy, tmp_path):
    """Without an `Input`, too; numbers are not taken for strings."""
    elmo = ElmoEmbedding(random_encoder(SMALLER), dtype=policy)
    inputs = char_ids(TOKENS) if name == "ids" else INPUTS[name]
    pooling = keras.layers.GlobalAveragePooling1D()
    model = keras.Sequential([*first, elmo, pooling])
    found = model.predict(inputs, verbose=0)
    wanted = numpy_of(pooling(elmo(char_ids(TOKENS))))
    # In a graph, bfloat16 is rounded at other places.
    atol = 1e-5 if policy == "float32" else 0.05
    np.testing.assert_allclose(found, wanted, atol=atol)
    model.compile("sgd", "mse")
    model.fit(inputs, np.zeros(wanted.shape), verbose=0)
    model.save(tmp_path / "model.keras")
    copy = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(*numpy_of([copy(inputs), model(inputs)]), atol=atol)
    assert elmo.dtype_policy.name == elmo.encoder.dtype_policy.name == policy


def test_input_without_a_type():
    """Keras makes numbers of ids then, which the policy must not round."""
    elmo = ElmoEmbedding(random_encoder(SMALLER), dtype="mixed_bfloat16")
    ids = keras.Input((None, 50))
    found = keras.Model(ids, elmo(ids))(char_ids(TOKENS))
    np.testing.assert_array_equal(*numpy_of([found, elmo(char_ids(TOKENS))]))


def test_ragged(wanted):
    """Ragged tensors and batches, in a model, in `fit` and in `predict`."""
    layer = ElmoEmbedding(random_encoder())
    tokens = keras.Input((None,), dtype="string", ragged=True)
    static = StaticEmbedding(["bank"], 2)
    both = keras.layers.Concatenate()([layer(tokens), static(tokens)])
    model = keras.Model(tokens, [both, keras.layers.Dense(2)(both)])
    words = tf.ragged.constant(TOKENS)
    np.testing.assert_allclose(model(words)[0][..., :-2], wanted, atol=1e-5)
    labelled = tf.data.Dataset.from_tensor_slices((words, np.arange(3)))
    for batch, _ in labelled.ragged_batch(3):
        np.testing.assert_allclose(layer(batch), wanted, atol=1e-5)
    found, _ = model.predict(labelled.ragged_batch(2), verbose=0)
    for row, vectors in enumerate(found):
        tokens = max(len(TOKENS[row]), 1)
        np.testing.assert_allclose(
            vectors[:tokens, :-2], wanted[row, :tokens], atol=1e-5
        )
    pooled = keras.layers.GlobalAveragePooling1D()(both)
    classifier = keras.Model(model.inputs, keras.layers.Dense(1)(pooled))
    classifier.compile("sgd", "mse")
    classifier.fit(labelled.ragged_batch(2), shuffle=False, verbose=0)
    classifier.fit(words, np.arange(3), verbose=0)


def test_output_shapes():
    """Shapes alone, as `keras.layers.TimeDistributed` asks for them."""
    encoder = random_encoder()
    for keep, added in ((False, 0), (True, 2)):
        elmo = ElmoEmbedding(encoder, keep_boundaries=keep)
        shapes = ((2,), (2, 3), (2, 5, 50), (2, 3, 4, 14))
        tokens = (None, 3 + added, 3 + added, 4)
        for shape, wanted in zip(shapes, tokens, strict=True):
            assert elmo.compute_output_shape(shape) == (2, wanted, 14)
    several = ElmoEmbedding(encoder, num_representations=2)
    assert several.compute_output_shape((2, None)) == [(2, None, 14)] * 2
    assert Tokenizer().compute_output_shape((2, 1)) == (2, None)
    assert CharacterIds().compute_output_shape((2, 3)) == (2, 5, 50)
    assert StaticEmbedding(["a"], 4).compute_output_shape((2, 3)) == (2, 3, 4)
    bilm = encoder.get_layer("bilm")
    assert bilm.compute_output_shape((2, 3, 7)) == [(2, 3, 14)] * 3
    head = LanguageModelHead(10)
    wanted = {"forward": (2, 4), "backward": (2, 4)}
    assert head.compute_output_shape((2, 5, 14), (2, 5)) == wanted


@pytest.mark.parametrize(
    ("name", "sentences"), [("ids", 2), ("words", None), ("layers", None)]
)
def test_time_distributed(name, sentences, layer, wanted):
    """Documents of sentences."""
    numbers = np.stack([numpy_of(x) for x in layer.token_layers(char_ids(TOKENS))], 1)
    value, shape, dtype = {
        "ids": (char_ids(TOKENS), (None, 50), "int32"),
        "words": (tf.constant(PADDED), (None,), "string"),
        "layers": (numbers, layer.layers_shape, "float32"),
    }[name]
    documents = tf.stack([value, value], axis=1)
    inputs = keras.Input((sentences, *shape), dtype=dtype)
    outputs = keras.layers.TimeDistributed(layer)(inputs)
    assert outputs.shape == (None, sentences, None, wanted.shape[-1])
    model = keras.Model(inputs, outputs)
    for found in (model(documents), model.predict(documents, verbose=0)):
        for sentence in range(2):
            np.testing.assert_allclose(found[:, sentence], wanted, atol=1e-5)


def test_dataset(layer):
    """Ids are made in the input pipeline, for a model that XLA compiles."""
    dataset = tf.data.Dataset.from_tensors(tf.constant(TEXT)).map(layer.char_ids)
    (ids,) = dataset
    np.testing.assert_array_equal(ids, char_ids(TOKENS))


@pytest.mark.parametrize(
    ("inputs", "received"),
    [
        ("text", r"inputs.shape=\(\), inputs.dtype=string"),
        (None, r"inputs.shape=\(\), inputs.dtype=object"),
        (np.zeros((2, 50), "int32"), r"inputs.shape=\(2, 50\), inputs.dtype=int32"),
        (np.zeros((2, 3, 49), "int32"), r"shape=\(2, 3, 49\)"),
        (np.zeros((2, 3, 50), "float16"), "inputs.dtype=float16"),
        (tf.constant([[["a"]]]), r"shape=\(1, 1, 1\), inputs.dtype=string"),
        ([[["a"]]], "inputs.dtype=string"),
        (np.zeros((2, 3, 4, 50), "int32"), r"TimeDistributed.*shape=\(2, 3, 4, 50\)"),
        (np.zeros((2, 3, 4, 14), "int32"), "inputs.dtype=int32"),
        (np.zeros((2, 4, 3, 14), "float32"), r"shape=\(2, 4, 3, 14\)"),
        (np.zeros((2, 3, 4, 15), "float32"), r"shape=\(2, 3, 4, 15\)"),
    ],
    ids=str,
)
def test_wrong_inputs(inputs, received, layer):
    """Refuses other axes and other types."""
    assert layer.layers_shape == (3, None, 14)
    with pytest.raises(ValueError, match=f"`inputs` must be text .*{received}"):
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


def test_summary_of_a_model_that_is_no_graph_of_layers():
    """Keras gives `compute_output_shape` the name of what it built a layer with."""

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.tokenizer = Tokenizer("whitespace")
            self.ids = CharacterIds()
            self.elmo = ElmoEmbedding(random_encoder(SMALLER))

        def call(self, text):
            return self.elmo(self.ids(self.tokenizer(text)))

    model = Model()
    model(tf.constant(["By the river"]))
    lines = []
    model.summary(print_fn=lines.append)
    assert "(1, 3, 14)" in "\n".join(map(str, lines))
