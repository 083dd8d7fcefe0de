"""A model of unequal sizes, so that no axis passes for another, and its sentences."""

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.models.encoder import build_encoder
from tests import numpy_reference
from tests.layers.published_names import options_of, randomise, weights_of

CONFIG = ElmoConfig(
    filters=((1, 4), (2, 5), (3, 6)),
    num_highway_layers=2,
    char_embedding_units=3,
    units=9,
    projection_units=7,
    dropout=0.0,
)
SENTENCES = [
    ["I", "sat", "on", "the", "bank", "of", "the", "river", "."],
    ["배", "가", "고프다"],
    [],
    ["The", "bank", "closed"],
    ["x" * 70],
]


def char_ids(sentences, extra=0):
    """The ids of the sentences as one batch, `extra` masked columns wider."""
    rows = [numpy_reference.character_ids(tokens) for tokens in sentences]
    batch = numpy_reference.pad(rows).astype("int32")
    return np.pad(batch, [(0, 0), (0, extra), (0, 0)])


def random_encoder(config=CONFIG, seed=0):
    """An encoder whose weights are all different, and not small."""
    encoder = build_encoder(config)
    randomise(encoder, np.random.default_rng(seed), scale=0.5)
    return encoder


def published(encoder):
    """The `(options, weights)` by which the oracle knows an encoder."""
    layers = [encoder.get_layer(name) for name in ("char_cnn_embedding", "bilm")]
    return options_of(*layers), weights_of(*layers)
