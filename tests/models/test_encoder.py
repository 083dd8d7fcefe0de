import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.embedding.embedder import embed
from keras_elmo.models.encoder import Encoder, build_encoder, check_char_ids
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.utils import bfloat16
from tests.helpers import numpy_reference
from tests.helpers.combinations import BATCHES, DTYPES, check_combination, encoder_of
from tests.helpers.layer_checks import global_policy, numpy_of
from tests.helpers.small import (
    CONFIG,
    SENTENCES,
    SMALLER,
    char_ids,
    published,
    random_encoder,
)

pytestmark = pytest.mark.graph

# The layers are compared with the oracle by themselves; here, that each has its sizes.
VARIANTS = {
    "as published": {},
    "more, tighter": {
        "activation": "tanh",
        "projection_units": 15,
        "num_layers": 3,
        "cell_clip": 0.2,
        "projection_clip": 0.1,
    },
    "fewer": {
        "num_highway_layers": 0,
        "skip_connections": False,
        "num_layers": 1,
        "cell_clip": None,
        "projection_clip": None,
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_equals_the_oracle(variant):
    config = dataclasses.replace(CONFIG, **VARIANTS[variant])
    encoder = random_encoder(config)
    # Not those of its layers, which may be wrong.
    options = config.to_options()
    _, weights = published(encoder)
    assert {name: array.shape for name, array in weights.items()} == (
        numpy_reference.published_shapes(options)
    )
    layers = numpy_of(encoder(char_ids(SENTENCES, extra=1)))
    assert len(layers) == encoder.config.num_layers + 1
    for row, tokens in enumerate(SENTENCES):
        expected, _ = numpy_reference.encode(tokens, options, weights)
        for found, wanted in zip(layers, expected, strict=True):
            np.testing.assert_allclose(found[row, : len(wanted)], wanted, atol=1e-5)
            assert (found[row, len(wanted) :] == 0).all()


ENCODER = {}


@settings(max_examples=15)
@given(
    sentence=st.lists(st.text(min_size=1, max_size=8), max_size=8),
    mates=st.lists(st.lists(st.text(min_size=1, max_size=5), max_size=12), max_size=6),
    place=st.integers(0, 6),
    extra=st.integers(0, 5),
)
def test_independent_of_batch(sentence, mates, place, extra):
    """A sentence has the same vectors in any company."""
    # One model for all the examples: a layer's first call costs more than the rest.
    encoder = ENCODER.setdefault("one", random_encoder())
    alone = numpy_of(encoder(char_ids([sentence])))
    place = min(place, len(mates))
    batch = [*mates[:place], sentence, *mates[place:]]
    for found, wanted in zip(
        numpy_of(encoder(char_ids(batch, extra))), alone, strict=True
    ):
        size = len(sentence) + 2
        # A batch of another shape adds in another order: the last places differ.
        np.testing.assert_allclose(found[place, :size], wanted[0], atol=1e-5)
        assert (found[place, size:] == 0).all()


def test_empty_sentences():
    """They have boundaries; a row may have no position, and a batch no sentence."""
    encoder = random_encoder()
    ids = char_ids([[], ["word"]])
    ids = np.concatenate([ids, np.zeros_like(ids[:1])])
    for tensor in encoder(ids):
        np.testing.assert_array_equal(numpy_of(tensor._keras_mask), ids[..., 0] > 0)
        layer = numpy_of(tensor)
        assert layer.shape == (3, 3, 14) and np.isfinite(layer).all()
        assert (np.abs(layer[:2, :2]).sum(axis=-1) > 0).all()
        assert (layer[2] == 0).all()
    layers = encoder(np.zeros((0, 4, 50), "int32"))
    assert [tuple(layer.shape) for layer in layers] == [(0, 4, 14)] * 3


def test_repr():
    encoder = random_encoder()
    weights = f"{encoder.count_params():,} weights"
    said = f"Encoder(3 layers of 14 units, {weights}, tokenizer=None)"
    assert repr(encoder) == said


def test_context():
    """The token layer has none, the layers above have."""
    first, *contextual = numpy_of(random_encoder()(char_ids(SENTENCES)))
    # "bank" stands fifth in the first sentence and second in the fourth.
    np.testing.assert_allclose(first[0, 5], first[3, 2], atol=1e-5)
    np.testing.assert_array_equal(first[..., :7], first[..., 7:])
    for layer in contextual:
        assert not np.allclose(layer[0, 5], layer[3, 2], atol=1e-2)


def test_no_dropout_unless_training():
    config = dataclasses.replace(CONFIG, dropout=0.5)
    encoder = random_encoder(config)
    ids = char_ids(SENTENCES)
    still, again = numpy_of(encoder(ids)), numpy_of(encoder(ids, training=False))
    trained = numpy_of(encoder(ids, training=True))
    np.testing.assert_array_equal(still[-1], again[-1])
    assert not np.allclose(still[-1], trained[-1])


def test_the_type_is_that_of_its_creation():
    """Not Keras's global one of some later moment."""
    encoder = build_encoder(CONFIG)
    with global_policy("mixed_bfloat16"):
        copy = Encoder.from_config(encoder.get_config())
        low = build_encoder(CONFIG)
    for each, wanted in ((copy, "float32"), (low, "bfloat16")):
        assert each.dtype_policy.compute_dtype == wanted
        assert each.get_layer("bilm").compute_dtype == wanted


def test_negative_ids():
    """Keras would count them from the end of the table."""
    ids = char_ids(SENTENCES)
    ids[0, 1, 2] = -1
    with pytest.raises(ValueError, match="`char_ids` must not be negative"):
        random_encoder()(ids)
    with pytest.raises(tf.errors.InvalidArgumentError, match="-1 is not in"):
        random_encoder().predict(ids, verbose=0)


def test_ids_on_an_accelerator():
    """They are not copied from it to be checked."""

    class Ids:
        device = "cuda:0"

        def __array__(self, *_):
            raise AssertionError("copied")

    check_char_ids(Ids())


def test_padding_in_front():
    """An error where the values are known; in a graph, a sentence ends there."""
    encoder = random_encoder()
    ids = char_ids([["the", "bank"], ["a"]])
    front = np.stack([ids[0], np.roll(ids[1], 1, axis=0)])
    with pytest.raises(ValueError, match="`char_ids` must be padded .* in row 1"):
        encoder(front)
    gap = char_ids([["the", "bank", "the", "bank"]])
    gap[0, 2] = 0
    for found, wanted in zip(
        encoder.predict(front, verbose=0), encoder(ids), strict=True
    ):
        np.testing.assert_allclose(found[0], wanted[0], atol=1e-5)
        assert not found[1].any()
    for found, wanted in zip(
        encoder.predict(gap, verbose=0), encoder(gap[:, :2]), strict=True
    ):
        np.testing.assert_allclose(found[:, :2], wanted, atol=1e-5)
        assert not found[:, 2:].any()


@pytest.mark.parametrize("trainable", [True, False])
def test_save_and_load(trainable, tmp_path):
    """What is frozen stays so in files and copies, until it is unfrozen."""
    encoder = Encoder(CONFIG, trainable=trainable, tokenizer="whitespace")
    number = trainable * len(encoder.weights)
    path = tmp_path / "encoder.keras"
    encoder.save(path)
    loaded = keras.saving.load_model(path)
    assert isinstance(loaded, Encoder)
    assert loaded.config == CONFIG
    assert loaded.tokenizer == "whitespace"
    for each in (encoder, loaded, encoder.with_dtype("bfloat16")):
        assert len(each.trainable_weights) == number
    loaded.trainable = True
    assert len(loaded.trainable_weights) == len(loaded.weights)
    ids = char_ids(SENTENCES)
    for found, wanted in zip(loaded(ids), encoder(ids), strict=True):
        np.testing.assert_array_equal(numpy_of(found), numpy_of(wanted))


def test_a_copy_in_low_precision():
    encoder = random_encoder()
    with pytest.raises(ValueError, match="`tokenizer` must be 'unicode'"):
        encoder.tokenizer = "jieba"
    encoder.tokenizer = "unicode"
    low = encoder.with_dtype("bfloat16")
    assert (low.config, low.tokenizer) == (encoder.config, "unicode")
    assert {weight.dtype for weight in low.weights} == {"bfloat16"}
    assert {weight.dtype for weight in encoder.weights} == {"float32"}
    copy = Encoder.from_config(low.get_config())
    copy.set_weights(low.get_weights())
    ids = char_ids(SENTENCES)
    for wanted, layer, again in zip(
        *numpy_of([encoder(ids), low(ids), copy(ids)]), strict=True
    ):
        norms = np.linalg.norm(wanted, axis=-1) * np.linalg.norm(layer, axis=-1)
        cosines = (wanted * layer).sum(axis=-1)[norms > 0] / norms[norms > 0]
        assert 0.999 < cosines.min() and not np.array_equal(layer, wanted)
        np.testing.assert_array_equal(again, layer)


def test_slow_dtype_warns(monkeypatch):
    """One warning for each model, on a processor without instructions for it."""
    monkeypatch.setattr(bfloat16, "multiplies_bfloat16", lambda: False)
    encoder = random_encoder(SMALLER)
    for make in (
        lambda: encoder.with_dtype("bfloat16"),
        lambda: build_pretraining_model(SMALLER, 9, dtype="mixed_bfloat16"),
        lambda: ElmoEmbedding(encoder, dtype="bfloat16"),
    ):
        with pytest.warns(UserWarning, match="no instructions for bfloat16") as caught:
            make()
        assert len(caught) == 1


@pytest.mark.parametrize(
    ("batch", "dtype"),
    [
        *((batch, "float32") for batch in BATCHES),
        *(("natural order", dtype) for dtype in DTYPES[1:]),
        ("no words", "bfloat16"),
    ],
)
def test_combinations(batch, dtype):
    """Every way to call an encoder agrees with the oracle, and so does `embed`."""
    check_combination(BATCHES[batch], dtype)
    if dtype == "float32":
        options, weights = published(encoder_of(dtype))
        vectors = embed(encoder_of(dtype), BATCHES[batch])
        for tokens, found in zip(BATCHES[batch], vectors, strict=True):
            layers, _ = numpy_reference.encode(tokens, options, weights)
            wanted = [layer[1:-1] for layer in layers]
            np.testing.assert_allclose(found, wanted, atol=1e-5)
