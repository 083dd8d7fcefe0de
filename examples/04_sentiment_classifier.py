"""A classifier of raw sentences: strings in, label out, one Keras model.

    python examples/04_sentiment_classifier.py \\
        --model saved_models/my-elmo --train train.tsv --dev dev.tsv

Files are TSV, CSV or JSON lines with the columns text and label, or two columns
without names. Without them, sentences are generated, in which a word alone does not
tell: "anything but dull" is praise. On the command line: `keras-elmo classify train`.
"""

import argparse
from pathlib import Path

import keras
from sentiment_sentences import write_sentences
from shipped_models import ENGLISH

import keras_elmo


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
    # Sentences are cut as the text was that the model learned from.
    classifier = keras_elmo.TextClassifier(model, dropout=0.2)
    classifier.optimizer.learning_rate = 0.003
    classifier.fit(
        train, validation_data=dev, epochs=epochs, batch_size=batch_size, verbose=2
    )

    # One file that holds everything; this package is all that reading it needs.
    out.parent.mkdir(parents=True, exist_ok=True)
    classifier.save(out)
    classifier = keras.models.load_model(out)
    sentences = ["A warm and witty film !", "The plot is anything but dull ."]
    rows = classifier.predict_proba(sentences)
    for sentence, row in zip(sentences, rows, strict=True):
        label = classifier.labels[row.argmax()]
        print(f"{label} ({row.max():.0%} sure): {sentence}")
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
