"""A user's model with strings in, ElmoEmbedding in the middle and a label out."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.text.character_ids import CharacterIds
from keras_elmo.text.tokenizer import Tokenizer
from tests.helpers.exports import SENTENCES, embedding
from tests.helpers.fresh_process import HELPERS, run_script
from tests.helpers.layer_checks import numpy_of
from tests.helpers.looked_up import LOOKED_UP
from tests.helpers.small import random_encoder

pytestmark = pytest.mark.slow

LABELS = np.array([0, 1, 0, 1, 0])
# All of them, in one batch, as numbers; and as they come, with an empty one.
BATCH = tf.constant(SENTENCES)


def classifier(layer):
    """Strings to probabilities; several representations are pooled one by one."""
    text = keras.Input((), dtype="string", name="text")
    char_ids = CharacterIds()(Tokenizer("unicode")(text))
    words = keras.tree.flatten(layer(char_ids))
    pooled = [keras.layers.GlobalAveragePooling1D()(each) for each in words]
    merged = pooled[0] if len(pooled) == 1 else keras.layers.Concatenate()(pooled)
    label = keras.layers.Dense(2, activation="softmax", name="head")(merged)
    model = keras.Model(text, label)
    model.compile(
        optimizer=keras.optimizers.Adam(0.05), loss="sparse_categorical_crossentropy"
    )
    return model


def fitted(model):
    """Trains it a little; returns the names of the weights that moved."""
    before = {weight.path: numpy_of(weight) for weight in model.weights}
    data = tf.data.Dataset.from_tensors((BATCH, LABELS)).repeat(8)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0)
    losses = history.history["loss"]
    assert losses[1] < losses[0]
    return {
        weight.path
        for weight in model.weights
        if not np.array_equal(numpy_of(weight), before[weight.path])
    }


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """Two representations, from a SavedModel that is not there any more."""
    path = tmp_path_factory.mktemp("artefact") / "export"
    export_saved_model(embedding(), path, None)
    layer = ElmoEmbedding.from_saved_model(path, num_representations=2, dropout=0.2)
    shutil.rmtree(path)
    model = classifier(layer)
    return model, fitted(model)


@pytest.fixture(scope="module")
def fine_tuned():
    model = classifier(ElmoEmbedding(random_encoder(), trainable_encoder=True))
    return model, fitted(model)


@pytest.fixture(scope="module")
def looked_up():
    """Of words and characters that are looked up."""
    text = keras.Input((), dtype="string")
    words = ElmoEmbedding(random_encoder(LOOKED_UP))(text)
    label = keras.layers.Dense(2)(keras.layers.GlobalAveragePooling1D()(words))
    return keras.Model(text, label), None


@pytest.fixture(scope="module")
def reloaded(frozen, fine_tuned, looked_up, tmp_path_factory):
    """What a new process predicts with each of them."""
    folder = tmp_path_factory.mktemp("reloaded")
    models = {"frozen": frozen, "fine_tuned": fine_tuned, "looked_up": looked_up}
    for name, (model, _) in models.items():
        model.save(folder / f"{name}.keras")
    (folder / "sentences.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    run_script(
        HELPERS / "reload_elsewhere.py",
        "sentences.txt",
        "predictions.npz",
        *(f"{name}.keras" for name in models),
        cwd=folder,
    )
    return dict(np.load(folder / "predictions.npz"))


@pytest.mark.parametrize("name", ["frozen", "fine_tuned", "looked_up"])
def test_reload_in_new_process(name, reloaded, request):
    """A new process predicts the same."""
    model, _ = request.getfixturevalue(name)
    np.testing.assert_allclose(
        reloaded[name], model.predict(BATCH, verbose=0), atol=1e-5
    )
    assert reloaded[f"{name} trainable"] == len(model.trainable_weights)


def test_fit_moves_mix_and_head(frozen):
    """A fit moves the mixes and the head alone."""
    model, moved = frozen
    assert moved == {weight.path for weight in model.trainable_weights}
    assert len(moved) == 2 * 2 + 2


def test_fit_moves_encoder(fine_tuned):
    """Fine tuning moves the encoder too."""
    model, moved = fine_tuned
    assert moved == {weight.path for weight in model.trainable_weights}
    encoder = model.layers[3].encoder
    assert len(moved) == len(encoder.weights) + 2 + 2


def test_fit_moves_mixes_apart(frozen):
    """Representations are learned apart."""
    model, _ = frozen
    first, second = model.layers[3].mix_weights
    assert not np.allclose(first[0], second[0])


def test_model_export(frozen, tmp_path):
    """Exported whole the freeze is kept."""
    model, _ = frozen
    model.export(str(tmp_path / "whole"), verbose=False)
    served = tf.saved_model.load(str(tmp_path / "whole"))
    np.testing.assert_allclose(
        served.serve(BATCH), model.predict(BATCH, verbose=0), atol=1e-5
    )
    found = served.signatures["serving_default"].trainable_variables
    assert len(found) == len(model.trainable_weights) == 6
