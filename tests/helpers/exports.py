"""A layer whose mix is not at its start, and what its exported models return."""

import numpy as np
import pytest

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.saved_model import export_saved_model
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import CONFIG, char_ids, random_encoder

SENTENCES = [
    "I sat on the bank of the river .",
    "배 가 고프다",
    "",
    "The bank closed",
    "x" * 70,
]
TOKENS = [text.split() for text in SENTENCES]
LENGTHS = [len(tokens) for tokens in TOKENS]
LONGEST = max(LENGTHS)
HALF = CONFIG.projection_units
SIZES = {
    "word_emb": HALF,
    "lstm_outputs1": 2 * HALF,
    "lstm_outputs2": 2 * HALF,
    "elmo": 2 * HALF,
}


def embedding(**arguments):
    """A layer with random weights; its first mix is scaled and uneven."""
    layer = ElmoEmbedding(random_encoder(), **arguments)
    layer.mixes[0].scalars.assign([0.7, -0.4, 0.9])
    layer.mixes[0].gamma.assign(1.7)
    return layer


def export_weights(source, path, tokenizer=None, **arguments):
    """Exports a SavedModel without signatures, which take seconds to trace.

    This package reads none of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("keras_elmo.export.saved_model.add_signatures", lambda *_: {})
        export_saved_model(source, path, tokenizer, **arguments)


def padded(sentences, length=None):
    """Lists of tokens as an array of bytes, filled up with empty ones."""
    longest = max(map(len, sentences), default=0) if length is None else length
    array = np.full((len(sentences), longest), b"", dtype=object)
    for row, tokens in enumerate(sentences):
        array[row, : len(tokens)] = [token.encode() for token in tokens]
    return array


def in_memory(layer):
    """What the signatures have to return for SENTENCES."""
    ids = char_ids(TOKENS)
    first = layer(ids) if layer.num_representations == 1 else layer(ids)[0]
    mask = (np.arange(LONGEST) < np.array(LENGTHS)[:, None])[..., None]
    layers = [numpy_of(h)[:, 1:-1] * mask for h in layer.encoder(ids)]
    elmo = numpy_of(first)
    return {
        "word_emb": layers[0][..., :HALF],
        "lstm_outputs1": layers[1],
        "lstm_outputs2": layers[2],
        "elmo": elmo,
        "default": np.array(
            [
                row[:length].mean(axis=0) if length else np.zeros(2 * HALF)
                for row, length in zip(elmo, LENGTHS, strict=True)
            ]
        ),
        "sequence_len": np.array(LENGTHS),
    }


def assert_equal(found, wanted, tolerance=1e-5):
    """Signatures' outputs, as tensors or arrays."""
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_allclose(
            np.asarray(found[name]), array, atol=tolerance, rtol=0, err_msg=name
        )
