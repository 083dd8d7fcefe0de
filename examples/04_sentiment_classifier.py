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
from labelled_sentences import read_examples
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
    sentences, labels = read_examples(dev)
    # Sentences are cut as the text was that the model learned from.
    classifier = keras_elmo.TextClassifier(model, dropout=0.2)
    classifier.optimizer.learning_rate = 0.003
    classifier.fit(
        *read_examples(train),
        validation_data=(sentences, labels),
        epochs=epochs,
        batch_size=batch_size,
        verbose=2,
    )

    # One file that holds everything; this package is all that reading it needs.
    out.parent.mkdir(parents=True, exist_ok=True)
    classifier.save(out)
    classifier = keras.models.load_model(out)
    # Of sentences that it has not seen.
    some = sentences[:5]
    predicted = zip(
        classifier.predict(some), classifier.predict_proba(some), strict=True
    )
    for sentence, (label, probabilities) in zip(some, predicted, strict=True):
        print(f"{label} ({probabilities.max():.0%} sure): {sentence}")
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
