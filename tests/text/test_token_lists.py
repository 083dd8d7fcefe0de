from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.text.token_lists import read_sentences
from tests.helpers.small import SENTENCES

TEXTS = [" ".join(tokens) for tokens in SENTENCES]
TOKENS = [[token.encode() for token in tokens] for tokens in SENTENCES]


def read(sentences, tokenizer="whitespace"):
    return list(read_sentences(sentences, tokenizer, max_ahead=100))


RAGGED = tf.ragged.constant(SENTENCES, tf.string)
FORMS = {
    "texts": TEXTS,
    "bytes": [text.encode() for text in TEXTS],
    "tuples of bytes": [tuple(map(str.encode, tokens)) for tokens in SENTENCES],
    "texts and tokens": [TEXTS[0], *SENTENCES[1:3], TEXTS[3], SENTENCES[4]],
    "tensors": [tf.constant(TEXTS[0]), *map(tf.constant, SENTENCES[1:])],
    "a tensor": tf.constant(TEXTS),
    "arrays": map(np.array, [TEXTS[0], *SENTENCES[1:]]),
    "a ragged tensor": RAGGED,
    "a padded tensor": RAGGED.to_tensor(""),
    "NumPy's objects": np.array(TEXTS, object),
    "a dataset": tf.data.Dataset.from_tensor_slices(TEXTS),
    "batches of texts": tf.data.Dataset.from_tensor_slices(TEXTS).batch(2),
    "an iterator of batches": iter(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2)),
    "batches of words": [tf.constant([SENTENCES[0]]), RAGGED[1:].to_tensor("")],
    "ragged batches": tf.data.Dataset.from_tensor_slices(RAGGED).ragged_batch(2),
    "rows of a ragged tensor": tf.data.Dataset.from_tensor_slices(RAGGED),
    "padded batches": tf.data.Dataset.from_tensors(RAGGED.to_tensor("")),
    "scalars": [tf.constant(TEXTS[0]), np.array(TEXTS[1]), *SENTENCES[2:]],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    """Text is split; tensors are read row by row."""
    assert read(FORMS[form]) == TOKENS


def test_one_text():
    """A string is a sentence, not a list of letters."""
    for text in (TEXTS[0], TEXTS[0].encode(), tf.constant(TEXTS[0])):
        assert read(text) == TOKENS[:1]


def test_one_column():
    """A column has words, not texts."""
    column = [["don't"], ["e-mail"]]
    for words in (column, np.array(column), tf.constant(column)):
        assert read(words, "unicode") == [[b"don't"], [b"e-mail"]]


LABELLED = tf.data.Dataset.from_tensor_slices((TEXTS, np.arange(5)))


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        (None, "a single object"),
        (3, "a single object"),
        ({"text": TEXTS}, "a dictionary"),
        (set(TEXTS), "a set"),
        (bytearray(b"a"), "a buffer"),
        (SimpleNamespace(columns=["text"]), r"pass a column .*frame\['text'\]"),
        (np.zeros((2, 2), "int32"), "an array of numbers"),
        (tf.constant([[["a"]]]), "an array of 3 axes"),
        (LABELLED, "a dataset of more than strings"),
        (LABELLED.map(lambda text, label: label), "a dataset of more than strings"),
    ],
)
def test_refused_forms(sentences, said):
    with pytest.raises(TypeError, match=f"`sentences` must be .*{said}.*Received"):
        read_sentences(sentences, "whitespace", 100)


@pytest.mark.parametrize(
    "sentences", [[1, 2], [["a", 1]], [None], [[["a"]]], [bytearray(b"a")]]
)
def test_refused_sentences(sentences):
    with pytest.raises(TypeError, match="`sentences` must hold .*Received"):
        read(sentences)


@pytest.mark.parametrize("sentence", [["a", "", "b"], [b"", b"a"]])
def test_empty_token(sentence):
    """Empty tokens are padding at the end of a row, in any form, and errors before."""
    for sentences in ([["fine"], sentence], tf.constant([sentence])):
        with pytest.raises(ValueError, match="tokens that are not empty"):
            read(sentences)
    for row in (["a", "b", ""], (b"a", b"b", b""), np.array(["a", "b", ""])):
        assert read([row]) == [[b"a", b"b"]]
