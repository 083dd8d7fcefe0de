import numpy as np
import pytest

from tests.helpers.pretrained import model_of
from tests.helpers.runs import CONFIG
from tests.helpers.small import random_encoder, randomise
from tests.helpers.words_by_hand import ALL_WORDS


@pytest.fixture(scope="package")
def encoder():
    encoder = random_encoder()
    encoder.tokenizer = "whitespace"
    return encoder


@pytest.fixture(scope="package")
def model():
    """A language model of random weights."""
    model = model_of(CONFIG, ALL_WORDS)
    randomise(model, np.random.default_rng(0), scale=0.5)
    model.encoder.tokenizer = "whitespace"
    return model
