"""A part-of-speech tagger: one label for every word of a sentence.

    python examples/05_tagger.py --model saved_models/my-elmo \\
        --train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu

Files are CoNLL-U, as the Universal Dependencies treebanks have it.
"""

import argparse
from pathlib import Path

import keras
import tensorflow as tf
from shipped_models import ENGLISH

import keras_elmo

DATA = Path(__file__).parent / "data"
Sentences = list[tuple[list[str], list[str]]]


def read_conllu(path: Path) -> Sentences:
    """Returns words and tags (UPOS) of each sentence."""
    sentences: Sentences = []
    for block in path.read_text(encoding="utf-8-sig").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if "\t" in line]
        # Numbers like 3-4 and 3.1 are words written as one, and words left out.
        rows = [row for row in rows if row[0].isdigit()]
        if rows:
            sentences.append(([row[1] for row in rows], [row[3] for row in rows]))
    return sentences


def batches(sentences: Sentences, tags: list[str], size: int) -> tf.data.Dataset:
    """Words padded with "", tags with -1; sentences of like length together."""
    sentences = sorted(sentences, key=lambda sentence: len(sentence[0]))
    words = tf.ragged.constant([words for words, _ in sentences])
    numbers = tf.ragged.constant(
        [[tags.index(tag) if tag in tags else -1 for tag in s] for _, s in sentences],
        dtype=tf.int32,
    )

    def pad(words: tf.RaggedTensor, numbers: tf.RaggedTensor) -> tuple:
        return words.to_tensor(""), numbers.to_tensor(-1)

    dataset = tf.data.Dataset.from_tensor_slices((words, numbers))
    return dataset.ragged_batch(size).map(pad)


def build_tagger(model: Path, num_tags: int) -> keras.Model:
    words = keras.Input((None,), dtype="string", name="words")
    vectors = keras_elmo.ElmoEmbedding.from_saved_model(model, dropout=0.2)(words)
    tag = keras.layers.Dense(num_tags, activation="softmax")(vectors)
    return keras.Model(words, tag)


def main(model: Path, train: Path, dev: Path, epochs: int, batch_size: int) -> None:
    keras.utils.set_random_seed(0)
    train_sentences = read_conllu(train)
    tags = sorted({tag for _, tags in train_sentences for tag in tags})
    tagger = build_tagger(model, len(tags))
    tagger.compile(
        keras.optimizers.Adam(0.01),
        # Padding has no tag and counts nowhere.
        keras.losses.SparseCategoricalCrossentropy(ignore_class=-1),
        weighted_metrics=["accuracy"],
    )
    tagger.fit(
        batches(train_sentences, tags, batch_size).shuffle(10_000, seed=0),
        validation_data=batches(read_conllu(dev), tags, 64),
        epochs=epochs,
        shuffle=False,
        verbose=2,
    )
    words = read_conllu(dev)[0][0]
    predicted = tagger(tf.constant([words]))[0].numpy().argmax(-1)
    print(" ".join(f"{w}/{tags[k]}" for w, k in zip(words, predicted, strict=True)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=ENGLISH)
    parser.add_argument("--train", type=Path, default=DATA / "tags_train.conllu")
    parser.add_argument("--dev", type=Path, default=DATA / "tags_dev.conllu")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=8)
    main(**vars(parser.parse_args()))
