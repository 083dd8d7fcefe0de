"""Loads saved models in a new process and writes what they predict for sentences.

Arguments: a file of sentences, one a line; a file for the predictions; then models.
"""

import os
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_elmo import ElmoEmbedding  # noqa: F401  (Keras knows the layers now)


def main(sentences, outputs, *models):
    lines = Path(sentences).read_text(encoding="utf-8").split("\n")
    predictions = {}
    for path in models:
        model = keras.saving.load_model(path)
        name = os.path.basename(path).removesuffix(".keras")
        predictions[name] = model.predict(tf.constant(lines), verbose=0)
        predictions[f"{name} trainable"] = len(model.trainable_weights)
    np.savez(outputs, **predictions)


main(*sys.argv[1:])
