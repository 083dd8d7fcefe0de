"""Static vectors of words, made of their contextual ones."""

from collections import Counter
from collections.abc import Iterator
from itertools import tee

import numpy as np

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.files.encoder_tokenizer import tokenizer_of
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source
from keras_elmo.text.vector_file import write_vector_file
from keras_elmo.utils.checks import (
    called,
    check_at_least,
    check_boolean,
    check_path,
    refuse,
)
from keras_elmo.utils.files import check_parent
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.types import StrPath
from keras_elmo.words.sentences import Text, read_corpus
from keras_elmo.words.token_vectors import layer_weights

_BATCH_SIZE = 128


def distill(
    model: Source,
    corpus: Text,
    out: StrPath,
    layer: int | None = None,
    min_count: int = 5,
    progress: bool = False,
    *,
    tokenizer: str | None = None,
) -> int:
    """Writes one vector for each word of a text, the mean of its contextual vectors.

    The file has word2vec's text format, the most frequent word first: `StaticEmbedding`
    reads it, and so do gensim (`KeyedVectors.load_word2vec_format`) and spaCy
    (`spacy init vectors`). The text is read twice, first to count its words. The sum of
    each word is in memory, 8 bytes a number.

    Args:
        model: an `Encoder`, or a name or path or another model as of `load`.
        corpus: text files, as paths or glob patterns, one sentence per line; or a list
            of sentences, which are lists of tokens.
        out: the file to write or to replace.
        layer: layer of the vectors: 0 is the word without its context, -1 the top
            layer; `None` is the model's mix of the layers, or their mean.
        min_count: how often a word has to occur to have a vector.
        progress: whether to show words/s on stderr.
        tokenizer: how the text is split, a kind of `Tokenizer`; the model's if `None`.

    Returns:
        The number of words in the file.

    Raises:
        TypeError: a sentence of `corpus` is not a list of tokens, or `model` is no
            model.
        ValueError: there is no such model, layer or file; a token is empty, or one of
            the words has a space; `corpus` can be read once only; no word occurs
            `min_count` times; or `layer` is `None`, and the mix is one with
            `layer_norm`.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    text = [["the", "bank", "lends", "money"], ["the", "bank", "of", "a", "river"]]
    assert keras_elmo.distill(encoder, text, "vectors.txt", min_count=2) == 2
    static = keras_elmo.StaticEmbedding.from_file("vectors.txt")
    assert static.words == ["the", "bank"]
    ```

    Reference: Bommasani et al. 2020, "Interpreting Pretrained Contextualized
    Representations via Reductions to Static Embeddings"; Gupta and Jaggi 2021,
    "Obtaining Better Static Word Embeddings Using Contextual Embedding Models".
    """
    check_path(out=out)
    check_at_least(1, min_count=min_count)
    check_boolean(progress=progress)
    if isinstance(corpus, Iterator):
        refuse("corpus", "files or a list, which can be read twice", corpus)
    check_parent(out)
    source = open_model(model)
    encoder = source.encoder()
    mix = layer_weights(layer, source, encoder)
    splitting = tokenizer_of(encoder, tokenizer)
    counts = Counter[str]()
    with Progress("Counting words", visible=progress) as bar:
        for tokens in read_corpus(corpus, splitting):
            counts.update(tokens)
            bar.update(len(tokens))
    words = _frequent_words(counts, min_count)
    rows = {word: row for row, word in enumerate(words)}
    units = 2 * encoder.config.projection_units
    sums = np.zeros((len(words), units))
    sentences, ahead = tee(read_corpus(corpus, splitting))
    embedded = Embedder(encoder).embed(ahead, _BATCH_SIZE, mix)
    with Progress("Distilling", counts.total(), visible=progress) as bar:
        for tokens, vectors in zip(sentences, embedded, strict=True):
            for token, vector in zip(tokens, vectors, strict=True):
                if token in rows:
                    sums[rows[token]] += vector
            bar.update(len(tokens))
    means = ((sums[rows[word]] / counts[word]).astype("float32") for word in words)
    write_vector_file(out, words, means, units)
    return len(words)


def _frequent_words(counts: Counter[str], min_count: int) -> list[str]:
    """Returns the words that have a vector, the most frequent first."""
    words = [word for word, count in counts.most_common() if count >= min_count]
    if not counts:
        raise ValueError(f"{called('corpus')} must hold a word, and there is no text")
    if not words:
        most = max(counts.values())
        rule = f"at most {most}, the count of the most frequent word"
        refuse("min_count", rule, min_count)
    for word in words:
        # Bytes are split at ASCII's white space alone.
        if word.encode().split() != [word.encode()]:
            raise ValueError(
                f"{called('corpus')} must hold words without spaces and line ends, "
                f"which end a word in the file. Received: {word!r}"
            )
    return words
