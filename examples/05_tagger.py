"""A part-of-speech tagger: one tag for every word of a sentence.

    python examples/05_tagger.py --model saved_models/my-elmo \\
        --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu

Files are CoNLL-U, as the Universal Dependencies treebanks have it, or columns as in
CoNLL-2003. The same on the command line: `keras-elmo tag train`.
"""

import argparse
from pathlib import Path

import keras
from shipped_models import ENGLISH

import keras_elmo

DATA = Path(__file__).parent / "data"


def main(
    model: Path, train: Path, dev: Path, epochs: int, batch_size: int, out: Path
) -> None:
    keras.utils.set_random_seed(0)
    tagger = keras_elmo.Tagger(model, lstm_units=64)
    tagger.compile(keras.optimizers.Adam(0.005), tagger.loss)
    tagger.fit(
        train, validation_data=dev, epochs=epochs, batch_size=batch_size, verbose=2
    )
    scores = tagger.evaluate(dev)
    print(f"{scores['accuracy']:.1%} of {scores['tokens']} words have the right tag")

    # One file that holds everything; this package is all that reading it needs.
    out.parent.mkdir(parents=True, exist_ok=True)
    tagger.save(out)
    tagger = keras.models.load_model(out)
    for words, tags in tagger.tag(["The old man walks home .", "Anna reads a book ."]):
        print(*map("/".join, zip(words, tags, strict=True)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=ENGLISH)
    parser.add_argument("--train", type=Path, default=DATA / "tags_train.conllu")
    parser.add_argument("--dev", type=Path, default=DATA / "tags_dev.conllu")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("runs/tagger.keras"))
    main(**vars(parser.parse_args()))
