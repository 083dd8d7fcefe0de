"""Trains the biLM, too, from the top down: gradual unfreezing.

    python examples/13_fine_tuning.py --train train.txt --dev dev.txt

First the classifier learns above the frozen biLM, whose layers are computed once. Then
one more layer is unfrozen in each epoch, with a smaller learning rate: what is below
changes least. Files are those of example 04; without them, sentences are generated.

Reference: Howard and Ruder 2018, "Universal Language Model Fine-tuning for Text
Classification".
"""

import argparse
from pathlib import Path

import keras
import tensorflow as tf
from labelled_sentences import numbered, read_examples
from sentiment_sentences import write_sentences
from shipped_models import ENGLISH

import keras_elmo

LOSS = "sparse_categorical_crossentropy"


def layers_from_the_top(encoder: keras_elmo.Encoder) -> list[list[keras.layers.Layer]]:
    bilm = encoder.get_layer("bilm")
    pairs = zip(bilm.forward_layers, bilm.backward_layers, strict=True)
    token_embedding = [layer for layer in encoder.layers if layer is not bilm]
    return [*map(list, reversed(list(pairs))), token_embedding]


def main(
    model: Path, train: Path | None, dev: Path | None, epochs: int, rate: float
) -> None:
    keras.utils.set_random_seed(0)
    if train is None or dev is None:
        train, dev = write_sentences(Path("runs"), 1000)
    names = sorted(set(read_examples(train)[1]))

    def batches(path: Path) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices(numbered(path, names)).batch(16)

    elmo = keras_elmo.ElmoEmbedding(model, dropout=0.2)
    lstm = keras.layers.Bidirectional(keras.layers.LSTM(64))
    dense = keras.layers.Dense(len(names), activation="softmax")

    # === The frozen biLM ===
    layers = keras.Input(elmo.layers_shape)
    head = keras.Model(layers, dense(lstm(elmo(layers))))
    head.compile(keras.optimizers.Adam(3 * rate), LOSS)
    cached = keras_elmo.precompute(elmo, batches(train), shuffle=True)
    head.fit(cached, epochs=epochs, shuffle=False, verbose=0)

    # === From the top down ===
    text = keras.Input((), dtype="string")
    # It shares the mix, the LSTM and the dense layer.
    classifier = keras.Model(text, dense(lstm(elmo(text))))
    # Compiled once: what it measures does not depend on what is trained.
    measured = keras.Model(text, classifier(text))
    measured.compile(loss=LOSS, metrics=["accuracy"])
    _, right = measured.evaluate(batches(dev), verbose=0)
    print(f"frozen: {right:.1%} right")
    shuffled = batches(train).shuffle(100_000)
    for depth, unfrozen in enumerate(layers_from_the_top(elmo.encoder)):
        for layer in unfrozen:
            layer.trainable = True
        # Only now is it known what is trained.
        optimizer = keras.optimizers.Adam(rate / 2.6**depth)
        classifier.compile(optimizer, LOSS)
        # Or Keras would make its variables in a graph, and trace another one.
        optimizer.build(classifier.trainable_variables)
        classifier.fit(shuffled, shuffle=False, verbose=0)
        _, right = measured.evaluate(batches(dev), verbose=0)
        print(f"{', '.join(layer.name for layer in unfrozen)}: {right:.1%} right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=ENGLISH)
    parser.add_argument("--train", type=Path, help="default: generated sentences")
    parser.add_argument("--dev", type=Path, help="default: generated sentences")
    parser.add_argument("--epochs", type=int, default=4, help="above the frozen biLM")
    parser.add_argument("--rate", type=float, default=0.001, help="of the top layer")
    main(**vars(parser.parse_args()))
