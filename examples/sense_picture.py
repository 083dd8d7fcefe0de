"""Draw the vectors of a word in each biLSTM layer, coloured by sense.

    python examples/sense_picture.py --out senses.png
    python examples/sense_picture.py --model runs/my-elmo --words bank play --out a.png

A row for each word, a column for each layer above layer 0. The sentences are those of
example 12. Needs the extra `plots`.
"""

import argparse
from pathlib import Path

import numpy as np
from sense_examples import DATA, examples_of, read_examples
from shipped_models import shipped_model

import keras_elmo
from keras_elmo.plots import plot_occurrences


def main(model: Path | None, data: Path, words: list[str] | None, out: Path) -> None:
    occurrences = {}
    for word, chosen in examples_of(words, read_examples(data)).items():
        encoder = keras_elmo.load(model or shipped_model(word))
        embedded = keras_elmo.embed(encoder, [example.tokens for example in chosen])
        vectors = [
            layers[:, example.position]
            for layers, example in zip(embedded, chosen, strict=True)
        ]
        occurrences[word] = np.stack(vectors), [example.sense for example in chosen]
    plot_occurrences(occurrences, out)
    print(f"{len(occurrences)} words are drawn in {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a model's folder, for all words")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--words", nargs="*", help="(all)")
    parser.add_argument("--out", type=Path, default=Path("runs/senses.png"))
    main(**vars(parser.parse_args()))
