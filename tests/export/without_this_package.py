"""Uses exported models in a process that never imports the package.

Arguments: the folders of models with the whitespace and the unicode tokenizer; then a
file for what the first returns.
"""

import json
import sys

import numpy as np
import tensorflow as tf
from keras import Input, Model, layers, optimizers


def sentences_and_tokens():
    tokens = [["I", "sat", "on", "the", "bank"], ["배", "가"]]
    padded = [row + [""] * (5 - len(row)) for row in tokens]
    strings = tf.constant([" ".join(row) for row in tokens])
    return strings, tf.constant(padded), tf.constant([5, 2])


def core_ops_are_enough(whitespace, unicode):
    strings, tokens, lengths = sentences_and_tokens()
    model = tf.saved_model.load(whitespace)
    from_strings = model.signatures["default"](strings=strings)
    from_tokens = model.signatures["tokens"](tokens=tokens, sequence_len=lengths)
    for name, value in from_strings.items():
        np.testing.assert_allclose(value, from_tokens[name], atol=1e-5)
    assert "tensorflow_text" not in sys.modules
    try:
        tf.saved_model.load(unicode)
    except Exception as error:
        missing = str(error)
    else:
        missing = ""
    assert "tensorflow_text" not in sys.modules
    import tensorflow_text  # noqa: F401

    later = tf.saved_model.load(unicode).signatures["default"](strings=strings)
    for name, value in from_strings.items():
        np.testing.assert_allclose(later[name], value, atol=1e-5)
    return {name: value.numpy() for name, value in from_strings.items()}, missing


def fine_tuned_through_tfsm_layer(path):
    """Which variables a fit has moved."""
    text = Input((), dtype="string")
    elmo = layers.TFSMLayer(path, call_endpoint="default")
    label = layers.Dense(1, name="head")(elmo(text)["default"])
    model = Model(text, label)
    model.compile(optimizer=optimizers.Adam(0.1), loss="mse", run_eagerly=True)
    # Adam makes names of its own out of the variables', which TensorFlow gave a ":".
    model.optimizer.build(model.trainable_variables)
    before = [np.array(weight) for weight in elmo.weights]
    head = [np.array(weight) for weight in model.layers[-1].weights]
    strings, *_ = sentences_and_tokens()
    data = tf.data.Dataset.from_tensors((strings, tf.constant([[1.0], [0.0]])))
    losses = model.fit(data.repeat(5), epochs=1, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    # The layer has copies for Keras and the graph's own variables: one and the same.
    return {
        "trainable": sorted(w.name for w in elmo.trainable_weights),
        "moved": sorted(
            w.name
            for w, old in zip(elmo.weights, before, strict=True)
            if not np.array_equal(np.array(w), old)
        ),
        "moved_head": sum(
            not np.array_equal(np.array(w), old)
            for w, old in zip(model.layers[-1].weights, head, strict=True)
        ),
        "num_weights": len(elmo.weights),
    }


def main(whitespace, unicode, outputs):
    arrays, missing = core_ops_are_enough(whitespace, unicode)
    np.savez(outputs, **arrays)
    found = fine_tuned_through_tfsm_layer(whitespace)
    assert not any(name.startswith("keras_elmo") for name in sys.modules)
    print(json.dumps({**found, "missing": missing}))


main(*sys.argv[1:])
