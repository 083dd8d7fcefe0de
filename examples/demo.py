"""The main job from end to end, in minutes: text, ELMo, export, classifier, picture.

Generates a small corpus around words of many senses, pretrains a biLM on it, exports
the biLM as a SavedModel, puts that into a Keras classifier which says in what sense a
word is meant, and draws the word's vectors by sense. Beside it stand the models that
come with the package, which have read other text, and far more of it.

    python examples/demo.py
"""

import argparse
import collections
import random
import shutil
import sys
import unicodedata
from pathlib import Path

import quiet_tensorflow  # noqa: F401  (before anything that imports TensorFlow)

# isort: split
import demo_sentences
import keras
import numpy as np
import tensorflow as tf
from demo_picture import draw_senses
from shipped_models import ENGLISH, KOREAN

import keras_elmo

CONFIG = keras_elmo.ElmoConfig(
    filters=((1, 16), (2, 32), (3, 64)),
    units=128,
    projection_units=48,
)


def write_text(sentences, folder: Path) -> tuple[Path, Path]:
    """Writes one sentence a line, every twentieth of them for validation."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [sentence.text for sentence in sentences]
    random.Random(0).shuffle(texts)
    train, validation = folder / "train.txt", folder / "validation.txt"
    held_out = len(texts) // 20
    validation.write_text("\n".join(texts[:held_out]) + "\n", encoding="utf-8")
    train.write_text("\n".join(texts[held_out:]) + "\n", encoding="utf-8")
    return train, validation


class SenseData:
    """The sentences around words of many senses as a classifier's examples."""

    def __init__(self, sentences, split: str, only=lambda word: True) -> None:
        chosen = [s for s in sentences if s.split == split and only(s.word)]
        self.texts = [sentence.text for sentence in chosen]
        self.words = np.array([sentence.word for sentence in chosen])
        self.senses = np.array([f"{s.word} {s.sense}" for s in chosen])
        self.tokens = tokenize(self.texts)
        self.positions = [
            tokens.index(sentence.target)
            for tokens, sentence in zip(self.tokens, chosen, strict=True)
        ]

    def dataset(self, names: list[str]) -> tf.data.Dataset:
        labels = [names.index(sense) for sense in self.senses]
        inputs = {"text": self.texts, "position": self.positions}
        return tf.data.Dataset.from_tensor_slices((inputs, labels))


def tokenize(texts: list[str]) -> list[list[str]]:
    tokens = keras_elmo.Tokenizer("unicode").ragged(tf.constant(texts)).to_list()
    return [[token.decode() for token in sentence] for sentence in tokens]


def sense_classifier(elmo: keras_elmo.ElmoEmbedding, num_senses: int) -> keras.Model:
    """A sentence and the place of a word in it to the sense of that word."""
    text = keras.Input((), dtype="string", name="text")
    position = keras.Input((), dtype="int32", name="position")
    words = elmo(text)
    place = keras.ops.reshape(position, (-1, 1, 1))
    word = keras.ops.take_along_axis(words, place, axis=1)[:, 0]
    sense = keras.layers.Dense(num_senses, activation="softmax")(word)
    return keras.Model({"text": text, "position": position}, sense)


def bag_of_words(train: SenseData, num_senses: int) -> keras.Model:
    """The same task from the set of a sentence's words, without any context."""
    inputs = {
        "text": keras.Input((), dtype="string", name="text"),
        "position": keras.Input((), dtype="int32", name="position"),
    }
    words = keras.layers.TextVectorization(output_mode="multi_hot")
    words.adapt(train.texts)
    sense = keras.layers.Dense(num_senses, activation="softmax")(words(inputs["text"]))
    return keras.Model(inputs, sense)


def fit(model: keras.Model, train: SenseData, test: SenseData, epochs: int):
    """Trains the classifier; returns for each test sentence whether it was right."""
    names = sorted(set(train.senses))
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    batches = train.dataset(names).shuffle(10000, seed=0).batch(32)
    model.fit(batches, epochs=epochs, shuffle=False, verbose=0)
    # `predict` makes a graph for each model, and TensorFlow complains about so many.
    batches = test.dataset(names).batch(256)
    probabilities = np.concatenate([model(inputs).numpy() for inputs, _ in batches])
    return np.array(names)[probabilities.argmax(-1)] == test.senses


def fit_shipped(corpus, epochs: int):
    """The same with the shipped model of each word's language."""
    right = {}
    for model, only in (
        (ENGLISH, str.isascii),
        (KOREAN, lambda word: not word.isascii()),
    ):
        train, test = (SenseData(corpus, split, only) for split in ("train", "test"))
        elmo = keras_elmo.ElmoEmbedding.from_saved_model(model)
        classifier = sense_classifier(elmo, len(set(train.senses)))
        hits = fit(classifier, train, test, epochs)
        right |= dict(zip(test.texts, hits, strict=True))
    return np.array([right[text] for text in SenseData(corpus, "test").texts])


def most_frequent(train: SenseData, test: SenseData):
    """Returns for each test sentence whether its word's most frequent sense is right.

    Nearly as many sentences of each sense make this about a guess among them.
    """
    counts = collections.defaultdict(collections.Counter)
    for word, sense in zip(train.words, train.senses, strict=True):
        counts[word][sense] += 1
    guesses = [counts[word].most_common(1)[0][0] for word in test.words]
    return np.array(guesses) == test.senses


def print_accuracies(right: dict, words) -> None:
    names = list(demo_sentences.SENSES)
    cells = [pad(name, 8) for name in [*names, "all"]]
    print(pad("", -31) + "".join(cells))
    for system, hits in right.items():
        shares = [hits[words == name].mean() for name in names] + [hits.mean()]
        print(pad(f"   {system}", -31) + "".join(f"{share:8.0%}" for share in shares))


def pad(text: str, width: int) -> str:
    """Fills up on the left, or right if negative; Hangul is two columns wide."""
    taken = sum(2 if unicodedata.east_asian_width(c) == "W" else 1 for c in text)
    spaces = " " * (abs(width) - taken)
    return spaces + text if width > 0 else text + spaces


def main(out: Path, saved_model: Path, sentences: int, steps: int, epochs: int) -> None:
    sys.stdout.reconfigure(line_buffering=True)
    keras.utils.set_random_seed(0)
    # The demo may be run again: what the last run made gives way.
    shutil.rmtree(out / "bilm", ignore_errors=True)

    print(f"1. Text: {sentences:,} sentences, English and Korean, generated into {out}")
    corpus = demo_sentences.sentences(sentences)
    train_file, validation_file = write_text(corpus, out)

    print(f"2. Pretraining a small biLM on them, {steps:,} steps")
    model = keras_elmo.pretrain(
        CONFIG,
        str(train_file),
        validation=str(validation_file),
        directory=out / "bilm",
        recipe="published",
        batch_tokens=640,
        steps=steps,
        validate_every=500,
    )
    perplexity = keras_elmo.perplexity(model, validation_file)
    print(
        "   Perplexity of sentences it has not seen: "
        f"{perplexity['forward']:.1f} forward, {perplexity['backward']:.1f} backward"
    )

    print(f"3. Exporting it as a SavedModel to {saved_model}")
    encoder = keras_elmo.load(out / "bilm")
    keras_elmo.export_saved_model(encoder, saved_model, tokenizer="unicode")

    print("4. A classifier on top: in what sense is the word meant?")
    train, test = SenseData(corpus, "train"), SenseData(corpus, "test")
    num_senses = len(set(train.senses))
    elmo = keras_elmo.ElmoEmbedding.from_saved_model(saved_model)
    untrained = keras_elmo.ElmoEmbedding(
        keras_elmo.Encoder(CONFIG, tokenizer="unicode")
    )
    right = {
        "most frequent sense": most_frequent(train, test),
        "bag of words": fit(bag_of_words(train, num_senses), train, test, epochs),
        "ELMo, not pretrained": fit(
            sense_classifier(untrained, num_senses), train, test, epochs
        ),
        "ELMo, pretrained": fit(
            sense_classifier(elmo, num_senses), train, test, epochs
        ),
        "elmo-en and elmo-ko": fit_shipped(corpus, epochs),
    }
    print(
        f"   Learned from {len(train.texts):,} labelled sentences. Right answers on "
        f"{len(test.texts):,} others, made of\n   other parts and other names "
        "(the biLM has read nearly all of them, unlabelled;\n   elmo-en and elmo-ko "
        "have read none):"
    )
    print_accuracies(right, test.words)
    shares, gamma = elmo.mix_weights[0]
    print(
        "   The classifier's mix of the biLM's layers: "
        + ", ".join(f"{share:.2f} of layer {k}" for k, share in enumerate(shares))
        + f"; gamma {gamma:.2f}"
    )

    picture = out / "senses.png"
    draw_senses(keras_elmo.load(saved_model), test, ("bank", "배"), picture)
    print(f"5. The vectors of bank and 배, coloured by sense: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/demo"))
    parser.add_argument("--saved-model", type=Path, default=Path("saved_models/demo"))
    parser.add_argument("--sentences", type=int, default=16000)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--epochs", type=int, default=5, help="of the classifier")
    main(**vars(parser.parse_args()))
