"""A user's model with strings in, ElmoEmbedding in the middle and a label out."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.saved_model import export_saved_model
from tests.helpers.exports import SENTENCES, embedding
from tests.helpers.fresh_process import run_script
from tests.helpers.layer_checks import moved
from tests.helpers.looked_up import LOOKED_UP
from tests.helpers.small import SMALLER, random_encoder

pytestmark = pytest.mark.slow

LABELS = np.array([0, 1, 0, 1, 0])
# All of them, in one batch, as numbers; and as they come, with an empty one.
BATCH = tf.constant(SENTENCES)


def from_saved_model(folder):
    """Two representations, from a SavedModel that is not there any more."""
    export_saved_model(embedding(), folder / "export", "unicode")
    layer = ElmoEmbedding.from_saved_model(folder / "export", num_representations=2)
    shutil.rmtree(folder / "export")
    return layer


def fine_tuned(folder):
    return ElmoEmbedding(random_encoder(SMALLER), trainable_encoder=True)


def looked_up(folder):
    """Of words and characters that are looked up."""
    return ElmoEmbedding(random_encoder(LOOKED_UP))


def classifier(layer):
    """Strings to probabilities; several representations are pooled one by one."""
    text = keras.Input((), dtype="string", name="text")
    words = keras.tree.flatten(layer(text))
    pooled = [keras.layers.GlobalAveragePooling1D()(each) for each in words]
    merged = pooled[0] if len(pooled) == 1 else keras.layers.Concatenate()(pooled)
    model = keras.Model(text, keras.layers.Dense(2, activation="softmax")(merged))
    model.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy")
    return model


RELOAD = """
import sys
import keras
import numpy as np
import tensorflow as tf
from keras_elmo import ElmoEmbedding
model = keras.saving.load_model("model.keras")
assert len(model.trainable_weights) == int(sys.argv[1])
lines = open("sentences.txt", encoding="utf-8").read().split("\\n")
np.save("found.npy", model.predict(tf.constant(lines), verbose=0))
"""


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("make", [from_saved_model, fine_tuned, looked_up])
def test_trained_saved_and_exported(make, tmp_path):
    """What is trainable moves, and no more; a new process predicts the same."""
    layer = make(tmp_path)
    model = classifier(layer)
    data = tf.data.Dataset.from_tensors((BATCH, LABELS)).repeat(4)
    with moved(model.weights) as paths:
        losses = model.fit(data, epochs=3, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert paths == {weight.path for weight in model.trainable_weights}
    encoder = len(layer.encoder.weights) if make is fine_tuned else 0
    assert len(paths) == encoder + 2 * len(layer.mixes) + 2
    if make is from_saved_model:
        first, second = layer.mix_weights
        assert not np.allclose(first[0], second[0])

    wanted = model.predict(BATCH, verbose=0)
    model.save(tmp_path / "model.keras")
    (tmp_path / "sentences.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    run_script("-c", RELOAD, len(paths), cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), wanted, atol=1e-5)

    if make is looked_up:
        return
    model.export(str(tmp_path / "whole"), verbose=False)
    served = tf.saved_model.load(str(tmp_path / "whole"))
    np.testing.assert_allclose(served.serve(BATCH), wanted, atol=1e-5)
    found = served.signatures["serving_default"].trainable_variables
    assert len(found) == len(paths)
