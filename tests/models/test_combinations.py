import numpy as np
import pytest

from keras_elmo.embedding.embedder import embed
from tests.helpers import numpy_reference
from tests.helpers.combinations import BATCHES, DTYPES, check_combination, encoder_of
from tests.helpers.small import published

pytestmark = pytest.mark.graph


@pytest.mark.parametrize(
    ("batch", "dtype"),
    [
        *((batch, "float32") for batch in BATCHES),
        *(("natural order", dtype) for dtype in DTYPES[1:]),
        ("no words", "bfloat16"),
    ],
)
def test_combinations(batch, dtype):
    """Every way to call an encoder agrees with the oracle."""
    check_combination(BATCHES[batch], dtype)


@pytest.mark.parametrize("batch", BATCHES)
def test_embed_combinations(batch):
    encoder = encoder_of("float32")
    options, weights = published(encoder)
    sentences = BATCHES[batch]
    for tokens, found in zip(sentences, embed(encoder, sentences), strict=True):
        layers, _ = numpy_reference.encode(tokens, options, weights)
        wanted = [layer[1:-1] for layer in layers]
        np.testing.assert_allclose(found, wanted, atol=1e-5)
