"""What pretraining leaves, without pretraining."""

import numpy as np

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.text.vocabulary import Vocabulary
from tests.helpers.small import randomise

NUM_SAMPLED = 4


def model_of(config, words):
    model = build_pretraining_model(config, len(words), NUM_SAMPLED)
    model.vocabulary = Vocabulary(words)
    return model


def write_pretrained(path, config, words):
    """Writes a model of random weights, none of them 0."""
    files = PretrainingDirectory(path)
    model = model_of(config, words)
    randomise(model, np.random.default_rng(0), scale=0.5)
    manifest = {
        "tokenizer": "whitespace",
        "vocabulary_size": len(words),
        "num_sampled": NUM_SAMPLED,
    }
    files.write_manifest(config, manifest)
    model.vocabulary.save(files.vocabulary)
    files.write_weights(model)
    return files
