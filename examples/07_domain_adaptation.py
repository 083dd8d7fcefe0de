"""General text first, then the domain's own: what does the second bring?

    python examples/07_domain_adaptation.py --steps 2000 \\
        --corpus reviews.txt --held-out reviews-dev.txt --train train.txt --dev dev.txt

Prints the perplexity of the domain's held-out text before and after, and how often a
small classifier (of sentences as in example 04) is right on either encoder, frozen. The
words to predict stay those of the general model, or perplexities would not compare. The
middle step alone, from a shell:

    keras-elmo pretrain --init saved_models/elmo-en --corpus reviews.txt \\
        --out runs/reviews --optimizer adam --learning-rate 0.0005
"""

import argparse
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from labelled_sentences import DATA, numbered, read_examples
from shipped_models import ENGLISH

import keras_elmo


def accuracies(model: Path, train: Path, dev: Path, seeds: int) -> list[float]:
    """Returns how often the classifier is right about `dev`, for each seed."""
    encoder = keras_elmo.load(model)
    names = sorted(set(read_examples(train)[1]))

    def examples(path: Path) -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices(numbered(path, names))

    found = []
    for seed in range(seeds):
        keras.utils.set_random_seed(seed)
        text = keras.Input((), dtype="string")
        elmo = keras_elmo.ElmoEmbedding(encoder, dropout=0.2, layer_norm=True)
        sentence = keras.layers.GlobalAveragePooling1D()(elmo(text))
        label = keras.layers.Dense(len(names), activation="softmax")(sentence)
        classifier = keras.Model(text, label)
        classifier.compile(
            keras.optimizers.Adam(0.003),
            "sparse_categorical_crossentropy",
            metrics=["accuracy"],
        )
        shuffled = examples(train).shuffle(100_000, seed=seed).batch(32)
        classifier.fit(shuffled, epochs=5, shuffle=False, verbose=0)
        found.append(classifier.evaluate(examples(dev).batch(32), verbose=0)[1])
    return found


def main(general, corpus, held_out, train, dev, out, seeds, **recipe) -> None:
    # Gently: a trained model has more to lose than to gain at first.
    recipe |= {"optimizer": "adam", "learning_rate": 5e-4, "resume": True}
    out.mkdir(parents=True, exist_ok=True)
    if corpus is None:
        # No text given: that of the labelled sentences, without their labels.
        corpus, held_out = out / "corpus.txt", out / "held-out.txt"
        for labelled, text in ((train, corpus), (dev, held_out)):
            text.write_text("\n".join(read_examples(labelled)[0]), encoding="utf-8")

    def measure(name: str, model: Path) -> None:
        found = keras_elmo.perplexity(model, held_out)
        unknown = f"{found['unknown_rate']:.1%} of the words unknown"
        print(f"{name}: perplexity {found['mean']:.1f}, {unknown}")
        right = accuracies(model, train, dev, seeds)
        print(f"{name}: {np.mean(right):.2%} ± {np.std(right):.2%} right")

    # First, or a model without a language model would be found out after the training.
    measure("general", general)
    adapted = out / "adapted"
    keras_elmo.pretrain(None, corpus, directory=adapted, init=general, **recipe)
    measure("adapted", adapted)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--general", type=Path, default=ENGLISH)
    parser.add_argument("--corpus", help="the domain's text")
    parser.add_argument("--held-out", help="more of it")
    parser.add_argument("--train", type=Path, default=DATA / "sentiment_train.txt")
    parser.add_argument("--dev", type=Path, default=DATA / "sentiment_dev.txt")
    parser.add_argument("--out", type=Path, default=Path("runs/adaptation"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--num-sampled", type=int, default=1024)
    # So few, or the sentences of the example are learnt by heart.
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--minutes", type=float, help="if it ends sooner than --steps")
    options = parser.parse_args()
    if (options.corpus is None) != (options.held_out is None):
        parser.error("--corpus and --held-out go together")
    main(**vars(options))
