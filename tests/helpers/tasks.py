"""A tagger and classifiers with random weights, and what runs them as files."""

import functools
import tempfile
from pathlib import Path

import keras
import numpy as np

from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.tagger import Tagger
from keras_elmo.downstream.text_classifier import TextClassifier
from keras_elmo.text.plain_ids import PlainIds
from tests.helpers.small import SMALLER, random_encoder, randomise

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
WORDS = ["the", "bank", "Ada", "배"]


def static_vectors():
    """Of some words, with random vectors."""
    static = StaticEmbedding(WORDS, 3)
    static.build()
    randomise(static, np.random.default_rng(2), 0.7)
    return static


def random_tagger(seed=0, **arguments):
    """A tagger with the constraints of BIO."""
    arguments = {"static": static_vectors(), "lstm_units": 6, **arguments}
    tagger = Tagger(random_encoder(SMALLER), tags=TAGS, **arguments)
    rng = np.random.default_rng(seed)
    # A larger bias, or larger transitions, would give all words one tag.
    for layer, scale in ((tagger.head.lstm, 0.7), (tagger.head.scores, 0.5)):
        if layer is not None:
            randomise(layer, rng, scale)
    tagger.head.scores.bias.assign(np.zeros(len(TAGS)))
    if tagger.head.crf is not None:
        randomise(tagger.head.crf, rng, 0.3)
    return tagger


@functools.cache
def litert_tagger():
    """A small tagger, and the LiteRT file of it, whose graph takes seconds to make."""
    tagger = random_tagger(lstm_units=0)
    tagger.elmo.encoder.tokenizer = "unicode"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.tflite"
        tagger.export(path)
        return tagger, path.read_bytes()


def random_classifier(labels=("bad", "good", "so-so"), **arguments):
    """A classifier; its biLSTM and its hidden layer are small."""
    arguments = {"static": static_vectors(), "lstm_units": 3, "hidden": 4, **arguments}
    classifier = TextClassifier(random_encoder(SMALLER), labels=labels, **arguments)
    rng = np.random.default_rng(3)
    for layer in (classifier.text_vectors, classifier.output_layer):
        for weight in layer.weights:
            if "encoder" not in weight.path and "mix" not in weight.path:
                weight.assign(rng.normal(0, 0.7, weight.shape))
    return classifier


def of_saved_model(path, sentences):
    """The outputs of the signature `tokens`, as arrays by their names."""
    import tensorflow as tf

    tokens = tf.ragged.constant(sentences, dtype=tf.string).to_tensor("")
    if len(tokens.shape) == 1:
        tokens = tf.zeros((len(sentences), 0), tf.string)
    lengths = tf.constant([len(words) for words in sentences], tf.int32)
    function = tf.saved_model.load(str(path)).signatures["tokens"]
    outputs = function(tokens=tokens, sequence_len=lengths)
    return {name: value.numpy() for name, value in outputs.items()}


def ids_of(model, sentences, width=0):
    """The inputs of a file that takes ids."""
    words = [[word.encode() for word in sentence] for sentence in sentences]
    ids = {"char_ids": PlainIds()(words, width)}
    if model.static is not None:
        longest = ids["char_ids"].shape[1] - 2
        padded = [[*words, *[""] * (longest - len(words))] for words in sentences]
        ids["static_ids"] = keras.ops.convert_to_numpy(model.static.ids(padded))
    return ids
