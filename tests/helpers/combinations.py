"""The same vectors, whatever is in a batch, what computes it, and how it is called.

`test_encoder.py` goes through them on TensorFlow, `tests/backends` on all.
"""

import functools

import keras
import numpy as np

from tests.helpers import numpy_reference
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import SENTENCES, char_ids, published, random_encoder

# As long as a word can be spelt, one byte more, and far more; 16 letters of 3 bytes.
_LONG = ["x" * 48, "x" * 49, "y" * 500, "뱅" * 16, "뱅" * 17]

BATCHES = {
    "natural order": SENTENCES,
    "longest first": sorted(SENTENCES, key=len, reverse=True),
    "shortest first": sorted(SENTENCES, key=len),
    "equal lengths": [["a", "bank"], ["the", "a"], ["배", "가"]],
    "one word": [["bank"]],
    "one word a row": [["bank"], ["a"], ["고프다"]],
    "one sentence again and again": [SENTENCES[0]] * 4,
    "one word again and again": [["bank"] * 7, ["bank"], ["bank"] * 3],
    "words of fifty bytes": [_LONG, _LONG[::-1], _LONG[:1]],
    "one letter": [["a"], ["b", "c"]],
    "no words": [[], []],
}
DTYPES = ("float32", "mixed_bfloat16", "bfloat16")


@functools.cache
def encoder_of(dtype):
    """One for all batches, as its first calls take longer than the others."""
    encoder = random_encoder()
    return encoder if dtype == "float32" else encoder.with_dtype(dtype)


def check_combination(sentences, dtype, eagerly=True):
    """Compares each way to call an encoder with the oracle; eagerly if asked for.

    Nothing is dropped, so training computes the same, by the way that has a gradient.
    """
    options, weights = published(encoder_of("float32"))
    encoder, ids = encoder_of(dtype), char_ids(sentences, extra=1)
    training = functools.partial(encoder, training=True)
    if keras.backend.backend() == "jax":
        import jax

        # It compiles each operation of an eager call by itself.
        training = jax.jit(training)
    ways = {"compiled": encoder.predict_on_batch(ids), "training": training(ids)}
    if eagerly:
        ways["called"] = encoder(ids)
    for way, layers in ways.items():
        for k, layer in enumerate(numpy_of(layers)):
            for row, tokens in enumerate(sentences):
                wanted = numpy_reference.encode(tokens, options, weights)[0][k]
                found, padding = np.split(layer[row], [len(tokens) + 2])
                assert not padding.any(), (way, k, tokens)
                _assert_close(found, wanted, dtype, (way, k, tokens))


def _assert_close(found, wanted, dtype, where):
    if dtype == "float32":
        np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=str(where))
        return
    norms = np.linalg.norm(found, axis=-1) * np.linalg.norm(wanted, axis=-1)
    cosines = (found * wanted).sum(axis=-1) / norms
    assert cosines.min() > 0.998, where
