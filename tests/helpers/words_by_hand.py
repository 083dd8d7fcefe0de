"""Small texts, and their vectors and likelihoods from the oracle."""

import numpy as np

from tests.helpers import numpy_reference
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import published

QUERY = ["I", "sat", "on", "the", "bank", "of", "the", "river"]
CORPUS = [
    ["The", "bank", "lends", "money", "."],
    [],
    ["A", "tree", "on", "the", "bank", "of", "a", "river"],
    ["배", "가", "고프다"],
    ["the", "bank", "the", "bank"],
]
# What the language model predicts.
WORDS = ["the", "bank", "river", "of", "boat", "배"]
ALL_WORDS = ["<S>", "</S>", "<UNK>", *WORDS]
SENTENCE = ["the", "strange", "river", "of", "the", "boat"]


def assert_same(found, expected):
    """The same occurrences; a sum of products may differ by a rounding error."""
    assert [one[1:] for one in found] == [one[1:] for one in expected]
    cosines = [one.cosine for one in found]
    np.testing.assert_allclose(cosines, [one.cosine for one in expected], atol=1e-5)


def unit_vector(encoder, layer, sentence, position):
    """The vector of a token, of length 1."""
    options, weights = published(encoder)
    layers = numpy_reference.encode(sentence, options, weights)[0]
    vector = layers[layer][position + 1].astype("float64")
    return vector / np.linalg.norm(vector)


def log_likelihoods(model, tokens, ids):
    """Those of the ids in place of the tokens, by each direction."""
    options, weights = published(model.encoder)
    kernel, bias = map(numpy_of, (model.head.softmax.kernel, model.head.softmax.bias))
    char_ids = numpy_reference.character_ids(tokens)
    losses = numpy_reference.language_model_nll(
        char_ids, np.array(ids), options, weights, kernel, bias
    )
    return [-direction for direction in losses]
