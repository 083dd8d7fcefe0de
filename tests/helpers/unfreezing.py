"""Freezing and unfreezing by Keras's own attribute.

`test_keras_classes.py` does it on TensorFlow, `tests/backends` on all.
"""

import keras
import numpy as np

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from tests.helpers.layer_checks import moved
from tests.helpers.small import CONFIG, SENTENCES, char_ids, random_encoder

IDS = char_ids([tokens for tokens in SENTENCES if tokens])
TARGETS = np.arange(4.0)


def regressor(layer, ids_per_token=50):
    """A model of ids, not yet compiled."""
    ids = keras.Input((None, ids_per_token), dtype="int32")
    pooled = keras.layers.GlobalAveragePooling1D()(layer(ids))
    return keras.Model(ids, keras.layers.Dense(1, name="head")(pooled))


def compiled(model):
    # A few steps in all: TensorFlow's graph would take longer to make.
    eagerly = keras.backend.backend() == "tensorflow"
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=eagerly)
    return model


def moved_by_fit(model):
    """The paths of the weights that a step of `fit` changes."""
    with moved(model.weights) as paths:
        model.fit(IDS, TARGETS, verbose=0)
    return paths


def paths(*layers):
    return {weight.path for layer in layers for weight in layer.weights}


def top_layers(layer):
    """The upper LSTMs of both directions."""
    bilm = layer.encoder.get_layer("bilm")
    return bilm.forward_layers[-1], bilm.backward_layers[-1]


def check_unfreezing(path, config=CONFIG):
    """From the top down, before and after `compile`, and in a file."""
    layer = ElmoEmbedding(random_encoder(config))
    model = compiled(regressor(layer))
    head = paths(layer.mixes[0], model.get_layer("head"))
    # After compile, as long as nothing was trained.
    for top in top_layers(layer):
        top.trainable = True
    wanted = head | paths(*top_layers(layer))
    assert moved_by_fit(model) == wanted
    model.save(path)
    # Before compile.
    layer.encoder.trainable = True
    assert moved_by_fit(compiled(model)) == paths(model)
    layer.encoder.trainable = False
    assert moved_by_fit(compiled(model)) == head
    loaded = keras.saving.load_model(path)
    assert {weight.path for weight in loaded.trainable_weights} == wanted
    assert moved_by_fit(loaded) == wanted
    (elmo,) = (each for each in loaded.layers if isinstance(each, ElmoEmbedding))
    elmo.trainable = True
    assert moved_by_fit(compiled(loaded)) == paths(loaded)
