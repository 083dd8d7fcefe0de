"""Use an exported model with TensorFlow alone, without keras_elmo.

    python examples/06_saved_model_without_keras_elmo.py --model saved_models/my-elmo

This process never imports keras_elmo.
"""

import argparse
import sys

import keras
import tensorflow as tf

# Registers the ops of a model that splits raw text (tokenizer="unicode").
import tensorflow_text  # noqa: F401
from shipped_models import ENGLISH

TEXTS = [
    "The heron slept on the bank among the reeds .",
    "We walked along the bank of the river .",
    "Anna asked the bank to pay for the house .",
    "The cashier works for the bank because of a loan .",
]
IS_MONEY = [0, 0, 1, 1]


def show_signatures(model: str) -> None:
    """Call the two signatures, as a server does."""
    # The model must outlive its signatures.
    loaded = tf.saved_model.load(model)
    of_strings = loaded.signatures["default"](strings=tf.constant(TEXTS[:2]))
    of_tokens = loaded.signatures["tokens"](
        tokens=tf.constant([["Two", "words"], ["One", ""]]),
        sequence_len=tf.constant([2, 1]),
    )
    for name, outputs in {"default": of_strings, "tokens": of_tokens}.items():
        shapes = {key: value.shape.as_list() for key, value in sorted(outputs.items())}
        print(f"signature {name!r}: {shapes}")


def train_classifier(model: str, epochs: int) -> None:
    """Train a Keras model on top; of the layers below, only the mix is trained."""
    elmo = keras.layers.TFSMLayer(model, call_endpoint="default")
    text = keras.Input((), dtype="string")
    is_money = keras.layers.Dense(1, activation="sigmoid")(elmo(text)["default"])
    classifier = keras.Model(text, is_money)
    classifier.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    # Built first, the optimizer names its variables by allowed names.
    classifier.optimizer.build(classifier.trainable_variables)
    print("trained:", [weight.name for weight in classifier.trainable_weights])
    examples = tf.data.Dataset.from_tensor_slices((TEXTS, IS_MONEY)).batch(4)
    history = classifier.fit(examples, epochs=epochs, shuffle=False, verbose=0).history
    print(f"loss: {history['loss'][0]:.3f} -> {history['loss'][-1]:.3f}")
    for text, share in zip(TEXTS, classifier.predict(examples, verbose=0), strict=True):
        print(f"{share[0]:4.0%} money: {text}")


def main(model: str, epochs: int) -> None:
    show_signatures(model)
    train_classifier(model, epochs)
    if "keras_elmo" in sys.modules:
        raise RuntimeError("keras_elmo was imported after all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=str(ENGLISH), help="an exported SavedModel")
    parser.add_argument("--epochs", type=int, default=30)
    main(**vars(parser.parse_args()))
