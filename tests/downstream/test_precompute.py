import tempfile
from unittest import mock

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream import precompute as module
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.precompute import precompute
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import SENTENCES, SMALLER, char_ids, random_encoder

pytestmark = pytest.mark.graph

TEXTS = [" ".join(tokens) for tokens in SENTENCES]
LABELS = [0, 1, 0, 1, 1]


@pytest.fixture(scope="module")
def encoder():
    return random_encoder(SMALLER)


@pytest.fixture(scope="module")
def elmo(encoder):
    return ElmoEmbedding(encoder)


def batches(inputs, *rest):
    return tf.data.Dataset.from_tensor_slices((inputs, *rest)).batch(2)


def assert_equal_vectors(elmo, found, inputs, atol=1e-5):
    wanted = numpy_of(elmo(inputs))
    vectors = elmo(found)
    np.testing.assert_allclose(numpy_of(vectors), wanted, atol=atol)
    mask = elmo(inputs)._keras_mask
    np.testing.assert_array_equal(numpy_of(vectors._keras_mask), numpy_of(mask))


# The layers have 1,792 bytes.
@pytest.mark.parametrize(("max_memory", "files"), [(2**30, 0), (1_600, 1), (1, 1)])
def test_equal_vectors(max_memory, files, elmo, tmp_path, monkeypatch):
    """The layer has the same result for text and for its layers, stored anywhere."""
    opened = mock.Mock(wraps=tempfile.TemporaryFile)
    monkeypatch.setattr(tempfile, "TemporaryFile", opened)
    cached = precompute(
        elmo, batches(TEXTS, LABELS), max_memory=max_memory, directory=tmp_path
    )
    assert opened.call_args_list == [mock.call(dir=tmp_path)] * files
    assert len(cached) == 3
    for (layers, labels), (text, wanted) in zip(
        cached, batches(TEXTS, LABELS), strict=True
    ):
        np.testing.assert_array_equal(labels, wanted)
        assert_equal_vectors(elmo, layers, text)


@pytest.mark.parametrize(
    "arguments",
    [{"keep_boundaries": True, "layer_norm": True}, {"dtype": "mixed_bfloat16"}],
    ids=lambda arguments: next(iter(arguments)),
)
def test_options(arguments, encoder, monkeypatch):
    """Also where sentences are sorted by length in several windows."""
    monkeypatch.setattr(module, "_WINDOW_SENTENCES", 3)
    monkeypatch.setattr(module, "_BATCH_SIZE", 2)
    elmo = ElmoEmbedding(encoder, **arguments)
    ids = char_ids(SENTENCES)
    ((layers,),) = precompute(elmo, [ids])
    # Sums of another order, of 8 bits.
    assert_equal_vectors(elmo, layers, ids, 0.05 if "dtype" in arguments else 1e-5)


@pytest.mark.usefixtures("eagerly")
def test_training(encoder):
    """Training on layers is training on text; the text's model has its mix."""

    def models():
        keras.utils.set_random_seed(0)
        elmo = ElmoEmbedding(encoder)
        pooling = keras.layers.GlobalAveragePooling1D()
        dense = keras.layers.Dense(2, activation="softmax")
        text, layers = keras.Input((), dtype="string"), keras.Input(elmo.layers_shape)
        pair = [keras.Model(x, dense(pooling(elmo(x)))) for x in (text, layers)]
        for model in pair:
            model.compile(
                keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy"
            )
        return elmo, *pair

    dataset = batches(TEXTS, LABELS)
    _, wanted, _ = models()
    wanted.fit(dataset, epochs=3, shuffle=False, verbose=0)
    elmo, found, on_layers = models()
    on_layers.fit(precompute(elmo, dataset), epochs=3, shuffle=False, verbose=0)
    np.testing.assert_allclose(
        *(model.predict(dataset, verbose=0) for model in (found, wanted)), atol=1e-5
    )
    assert elmo.mix_weights[0][1] != 1


def test_rest_of_a_batch(elmo):
    """Targets of any structure, weights, and batches without either."""
    targets = {"a": np.arange(5.0)[:, np.newaxis], "b": np.ones((5, 3))}
    cached = precompute(elmo, batches(TEXTS, targets, np.ones(5)))
    _, spec, weights = cached.element_spec
    assert (spec["a"].shape, spec["b"].shape) == ([None, 1], [None, 3])
    assert weights.dtype == tf.float64
    assert [len(batch) for batch in precompute(elmo, batches(TEXTS))] == [1] * 3


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("form", [dict, tuple])
def test_several_inputs(form, elmo):
    """A model of two texts and a number learns on layers what it does on text."""
    values = {"a": TEXTS, "number": np.arange(5.0)[:, np.newaxis], "b": TEXTS[::-1]}
    x = values if form is dict else tuple(values.values())
    dataset = tf.data.Dataset.from_tensor_slices((x, LABELS)).batch(2)
    pooling, dense = keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)

    def model(shape, **dtype):
        a, b = (keras.Input(shape, name=name, **dtype) for name in "ab")
        number = keras.Input((1,), name="number")
        pooled = [pooling(elmo(text)) for text in (a, b)]
        outputs = dense(keras.layers.Concatenate()([*pooled, number]))
        inputs = {"a": a, "number": number, "b": b}
        return keras.Model(inputs if form is dict else [*inputs.values()], outputs)

    on_text, on_layers = model((), dtype="string"), model(elmo.layers_shape)
    cached = precompute(elmo, dataset)
    np.testing.assert_allclose(
        *(
            each.predict(data, verbose=0)
            for each, data in ((on_text, dataset), (on_layers, cached))
        ),
        atol=1e-5,
    )
    on_layers.compile("sgd", "mse")
    on_layers.fit(cached, epochs=2, shuffle=False, verbose=0)


def test_named_inputs(elmo):
    """Strings that the layer does not read stay as they are."""
    x = {"text": TEXTS, "kind": ["news"] * 5}
    dataset = tf.data.Dataset.from_tensor_slices(x).batch(5)
    for named in ("text", ["text"]):
        ((found,),) = precompute(elmo, dataset, inputs=named)
        assert set(found) == {"text", "kind"}
        assert_equal_vectors(elmo, found["text"], tf.constant(TEXTS))
        assert found["kind"].numpy().tolist() == [b"news"] * 5
    pair = dataset.map(lambda x: ((x["text"], x["kind"]),))
    (((layers, kind),),) = precompute(elmo, pair, inputs=[0])
    assert layers.shape[0] == len(kind) == 5
    for wrong in (["title"], [], [0]):
        with pytest.raises(ValueError, match="`inputs` must name inputs .*'text'"):
            precompute(elmo, dataset, inputs=wrong)
    numbers = dataset.map(lambda x: {"size": tf.strings.length(x["text"])})
    with pytest.raises(ValueError, match="`inputs` must name inputs"):
        precompute(elmo, numbers)


def test_shuffle(elmo):
    """Another order in each epoch, of the same batches."""
    ids = char_ids([["a"]] * 20)
    dataset = tf.data.Dataset.from_tensor_slices((ids, np.arange(20))).batch(1)
    cached = precompute(elmo, dataset, shuffle=True)
    first, second = ([int(y[0]) for _, y in cached] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(20)) and first != second
    kept = precompute(elmo, dataset)
    assert [int(y[0]) for _, y in kept] == list(range(20))


def test_one_column(encoder):
    """A column has words, not texts."""
    elmo = ElmoEmbedding(encoder)
    elmo.encoder.tokenizer = "unicode"
    column = tf.constant([["don't"], ["e-mail"]])
    ((layers,),) = precompute(elmo, [column])
    assert layers.shape[2] == 1
    assert_equal_vectors(elmo, layers, column)


def test_refused(encoder, elmo):
    with pytest.raises(ValueError, match="`elmo` must have a frozen encoder"):
        precompute(ElmoEmbedding(encoder, trainable_encoder=True), batches(TEXTS))
    with pytest.raises(ValueError, match="`max_memory` must be positive"):
        precompute(elmo, batches(TEXTS), max_memory=0)
    with pytest.raises(ValueError, match="`dataset` must have an end"):
        precompute(elmo, batches(TEXTS).repeat())
    with pytest.raises(ValueError, match="`dataset` must have a batch"):
        precompute(elmo, [])
    with pytest.raises(ValueError, match="`dataset` must have batches x, .*4 parts"):
        precompute(elmo, [(char_ids(SENTENCES), 1, 2, 3)])
    with pytest.raises(ValueError, match="`inputs` must be text"):
        precompute(elmo, batches(TEXTS).unbatch())
    # The rows of one batch.
    for rows in (tf.constant([["New York"], ["x"]]), np.array(TEXTS), "a text"):
        with pytest.raises(ValueError, match="`dataset` must be an iterable"):
            precompute(elmo, rows)
