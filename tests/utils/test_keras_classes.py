import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import Encoder
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import SMALLER, random_encoder
from tests.helpers.unfreezing import (
    IDS,
    check_unfreezing,
    compiled,
    moved_by_fit,
    paths,
    regressor,
    top_layers,
)

pytestmark = pytest.mark.graph


def test_unfreezing(tmp_path):
    """Keras's `trainable` freezes and unfreezes any layer, at any time."""
    check_unfreezing(tmp_path / "model.keras")


def test_inner_layers_follow():
    """Also where the outer one does not change; Keras on TensorFlow leaves them."""
    layer = ElmoEmbedding(random_encoder(SMALLER))
    assert len(layer.trainable_weights) == 2 and not layer.trainable_encoder
    for trainable in (True, False):
        layer.trainable = trainable
        assert len(layer.trainable_weights) == trainable * len(layer.weights)
    layer.mixes[0].trainable = True
    bilm = layer.encoder.get_layer("bilm")
    for outer in (bilm, layer.encoder):
        for top in top_layers(layer):
            top.trainable = True
        assert layer.trainable_encoder
        outer.trainable = False
        assert not layer.trainable_encoder
    embedding = layer.encoder.get_layer("char_cnn_embedding")
    embedding.trainable = True
    embedding.highways[0].trainable = False
    embedding.trainable = True
    assert len(embedding.trainable_weights) == len(embedding.weights)


def test_variables_follow():
    """TensorFlow's own variables, too, as soon as any layer is set, and in copies."""
    layer = ElmoEmbedding(random_encoder(SMALLER))
    embedding = layer.encoder.get_layer("char_cnn_embedding")

    def check():
        for each in (layer, ElmoEmbedding.from_config(layer.get_config())):
            found = [weight.value.trainable for weight in each.encoder.weights]
            assert found == [weight.trainable for weight in each.encoder.weights]
            yield sum(found)

    for inner, number in (
        (layer.encoder, len(layer.encoder.weights)),
        (embedding, len(embedding.weights)),
        (embedding.highways[0], 4),
        (top_layers(layer)[0], 3),
    ):
        assert [*check()] == [0, 0]
        inner.trainable = True
        assert [*check()] == [number, number]
        layer.encoder.trainable = False


def test_encoder_in_a_model():
    """An encoder that was made frozen, without ElmoEmbedding."""
    encoder = Encoder(SMALLER, trainable=False)
    encoder.set_weights(random_encoder(SMALLER).get_weights())
    ids = keras.Input((None, 50), dtype="int32")
    pooled = keras.layers.GlobalAveragePooling1D()(encoder(ids)[-1])
    model = keras.Model(ids, keras.layers.Dense(1, name="head")(pooled))
    assert moved_by_fit(compiled(model)) == paths(model.get_layer("head"))
    encoder.trainable = True
    assert moved_by_fit(compiled(model)) == paths(model)


def test_dropout_follows():
    """The biLM drops, in training, while any of it is trained."""
    config = dataclasses.replace(SMALLER, dropout=0.5)
    layer = ElmoEmbedding(random_encoder(config))

    def drops():
        return not np.allclose(
            numpy_of(layer(IDS, training=True)), numpy_of(layer(IDS))
        )

    found = [drops()]
    for trainable in (True, False):
        top_layers(layer)[0].trainable = trainable
        found.append(drops())
    assert found == [False, True, False]


@pytest.mark.parametrize("unfrozen", [False, True])
def test_copies(unfrozen):
    """Copies keep what is frozen, layer by layer, and the mix, too."""
    layer = ElmoEmbedding(random_encoder(SMALLER), trainable_encoder=unfrozen)
    layer.mixes[0].trainable = False
    top_layers(layer)[0].trainable = True
    copy = ElmoEmbedding.from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()
    wanted = [weight.trainable for weight in layer.weights]
    assert [weight.trainable for weight in copy.weights] == wanted
    encoder = layer.encoder.with_dtype("bfloat16")
    wanted = [weight.trainable for weight in layer.encoder.weights]
    assert [weight.trainable for weight in encoder.weights] == wanted


@pytest.mark.slow
def test_model_export(tmp_path):
    """A SavedModel has the trainable variables of the moment; training goes on."""
    layer = ElmoEmbedding(random_encoder(SMALLER))
    model = compiled(regressor(layer))

    def exported():
        model.export(str(tmp_path / "exported"), verbose=False)
        served = tf.saved_model.load(str(tmp_path / "exported"))
        return len(served.signatures["serving_default"].trainable_variables)

    assert exported() == len(model.trainable_weights) == 4
    layer.encoder.trainable = True
    assert exported() == len(model.trainable_weights) == len(model.weights)
    assert moved_by_fit(compiled(model)) == paths(model)
