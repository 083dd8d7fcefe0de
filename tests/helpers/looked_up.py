"""A model of unequal sizes that looks words and characters up, and its sentences."""

import dataclasses

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.token_vocabulary import TokenVocabulary
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import numpy_of
from tests.helpers.small import CONFIG, weights_of

SPECIALS = ["<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>"]
VOCABULARY = TokenVocabulary(
    words=["bank", "<oov>", "배가", "<eos>", "<bos>", "abnkab", "the"],
    characters=[*"배가", *SPECIALS, *"abnkthe😀\u3000"],
    max_characters=8,
)
LOOKED_UP = dataclasses.replace(
    CONFIG, word_embedding_units=4, token_vocabulary=VOCABULARY
)
WORDS_ALONE = ElmoConfig(
    filters=(),
    units=9,
    projection_units=7,
    word_embedding_units=7,
    token_vocabulary=TokenVocabulary(
        ["<S>", "</S>", "<UNK>", "the", "bank", "배가"],
        begin="<S>",
        end="</S>",
        unknown="<UNK>",
    ),
)
SENTENCES = [
    ["the", "bank", "배가"],
    [],
    ["😀x", "\u3000", "abnkabnkab", "bank", " ", "the"],
    ["b\x00n", "\U0010ffff", "<bos>"],
]


def token_ids(token, vocabulary):
    """The ids of one token, by the rules of the formats."""
    most = vocabulary.max_characters
    cut = token if most is None else token[: most - 2]
    ids = []
    if vocabulary.words:
        known = cut if cut in vocabulary.words else vocabulary.unknown
        ids.append(vocabulary.words.index(known) + 1)
    if vocabulary.characters:
        inside = [c if c in vocabulary.characters else vocabulary.unknown for c in cut]
        if token in (vocabulary.begin, vocabulary.end):
            inside = [token]
        # ELMoForManyLangs takes its marks the wrong way round.
        word = ["<eow>", *inside, "<bow>"]
        word += ["<pad>"] * (most - len(word))
        ids += [vocabulary.characters.index(entry) + 1 for entry in word]
    return ids


def looked_up_ids(sentences, vocabulary):
    """The ids of sentences as one batch, 0 where masked."""
    longest = max(map(len, sentences)) + 2
    batch = np.zeros((len(sentences), longest, vocabulary.ids_per_token), "int32")
    for row, tokens in zip(batch, sentences, strict=True):
        bounded = [vocabulary.begin, *tokens, vocabulary.end]
        row[: len(bounded)] = [token_ids(token, vocabulary) for token in bounded]
    return batch


def token_vectors(layer, ids, options):
    """What a `VocabularyEmbedding` returns for unmasked ids `(tokens, ids)`."""
    parts = []
    if layer.word_embedding is not None:
        parts.append(numpy_of(layer.word_embedding)[ids[:, 0] - 1])
        ids = ids[:, 1:]
    if layer.char_cnn is not None:
        weights = weights_of(layer.char_cnn)
        parts.append(numpy_reference.token_embeddings(ids, options, weights))
    kernel, bias = numpy_of([layer.projection_kernel, layer.projection_bias])
    return np.concatenate(parts, axis=-1) @ kernel + bias


def expected_layers(encoder, ids):
    """The layers of one sentence of unmasked ids `(tokens + 2, ids)`."""
    options = encoder.config.to_options()
    x = token_vectors(encoder.token_embedding, ids, options)
    weights = weights_of(encoder.get_layer("bilm"))
    return numpy_reference.bilm(x, options, weights)[0]
