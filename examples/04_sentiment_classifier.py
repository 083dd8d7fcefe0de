"""A classifier of raw sentences: strings in, label out, one Keras model.

    python examples/04_sentiment_classifier.py \\
        --model saved_models/my-elmo --train train.txt --dev dev.txt

Files hold one example a line: `label sentence`, or columns separated by tabs with the
label last and the sentence before it. Without them, sentences are generated, in which a
word alone does not tell: "anything but dull" is praise.
"""

import argparse
from pathlib import Path

import keras
import tensorflow as tf
from labelled_sentences import numbered, read_examples
from sentiment_sentences import write_sentences
from shipped_models import ENGLISH

import keras_elmo


def build_classifier(model: Path, num_labels: int) -> keras.Model:
    text = keras.Input((), dtype="string", name="text")
    elmo = keras_elmo.ElmoEmbedding.from_saved_model(model, dropout=0.2)
    # Cut as the text was that the model learned from. The words come with a mask: what
    # follows does not read the padding.
    words = elmo(text)
    sentence = keras.layers.Bidirectional(keras.layers.LSTM(64))(words)
    sentence = keras.layers.Dropout(0.3)(sentence)
    label = keras.layers.Dense(num_labels, activation="softmax")(sentence)
    return keras.Model(text, label)


def main(
    model: Path,
    train: Path | None,
    dev: Path | None,
    epochs: int,
    batch_size: int,
    out: Path,
) -> None:
    keras.utils.set_random_seed(0)
    if train is None or dev is None:
        train, dev = write_sentences(out.parent, 1000)
    names = sorted(set(read_examples(train)[1]))
    sentences, labels = numbered(train, names)
    held_out = numbered(dev, names)
    classifier = build_classifier(model, len(names))
    classifier.compile(
        keras.optimizers.Adam(0.003),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )

    examples = tf.data.Dataset.from_tensor_slices((sentences, labels))
    classifier.fit(
        examples.shuffle(100_000, seed=0).batch(batch_size),
        validation_data=tf.data.Dataset.from_tensor_slices(held_out).batch(256),
        epochs=epochs,
        shuffle=False,
        verbose=2,
    )

    # One file that holds everything; this package is all that reading it needs.
    out.parent.mkdir(parents=True, exist_ok=True)
    classifier.save(out)
    classifier = keras.models.load_model(out)
    # Of sentences that it has not seen.
    for sentence in held_out[0][:5]:
        probabilities = classifier(tf.constant([sentence]))[0].numpy()
        label, sure = names[probabilities.argmax()], probabilities.max()
        print(f"{label} ({sure:.0%} sure): {sentence}")
    print(f"The whole model is in {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=ENGLISH)
    parser.add_argument("--train", type=Path, help="default: generated sentences")
    parser.add_argument("--dev", type=Path, help="default: generated sentences")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("runs/sentiment.keras"))
    main(**vars(parser.parse_args()))
