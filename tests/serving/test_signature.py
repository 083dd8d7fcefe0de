import time

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.serving.signature import LENGTHS, Signature
from tests.files.exports import SENTENCES, SIZES, TOKENS, padded

OUTPUTS = {*SIZES, "default", LENGTHS}


@pytest.fixture(scope="module")
def inputs():
    return {
        "default": {"strings": np.array([text.encode() for text in SENTENCES], object)},
        "tokens": {
            "tokens": padded(TOKENS),
            "sequence_len": np.array(list(map(len, TOKENS)), np.int32),
        },
    }


@pytest.mark.parametrize("name", ["default", "tokens"])
def test_it_says_what_it_takes_and_returns(name, model):
    signature = model.signatures[name]
    assert set(signature.outputs) == OUTPUTS
    ranks = {k: (v.dtype.name, v.rank) for k, v in signature.arguments.items()}
    if name == "default":
        assert ranks == {"strings": ("object", 1)}
        assert signature.given_tokens is None
    else:
        assert ranks == {"tokens": ("object", 2), "sequence_len": ("int32", 1)}
        assert signature.given_tokens == "tokens"


@pytest.mark.parametrize("name", ["default", "tokens"])
def test_each_output_alone_is_what_it_is_with_the_others(name, model, exported, inputs):
    loaded = tf.saved_model.load(str(exported))
    tensors = {k: tf.constant(v) for k, v in inputs[name].items()}
    wanted = loaded.signatures[name](**tensors)
    for output in OUTPUTS:
        found = model.signatures[name](inputs[name], [output])
        assert found.keys() == {output}
        assert found[output].dtype == wanted[output].dtype.as_numpy_dtype
        np.testing.assert_allclose(found[output], wanted[output], atol=1e-6)


def test_what_is_not_wanted_is_not_computed(model):
    """The LSTMs take a step a word, one after the other; this is one word."""
    signature = model.signatures["default"]
    assert isinstance(signature, Signature)
    inputs = {"strings": np.array([b"word " * 5000], object)}

    def seconds(output):
        times = []
        for _ in range(3):
            began = time.perf_counter()
            signature(inputs, [output])
            times.append(time.perf_counter() - began)
        return min(times)

    both, lower, words = map(seconds, ("lstm_outputs2", "lstm_outputs1", "word_emb"))
    assert words < both / 4
    assert lower < both / 1.3
    assert seconds(LENGTHS) < both / 4
