"""Static vectors of words, made of their contextual ones."""

import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee

import numpy as np

from keras_elmo.embedding.embedder import BATCH_SIZE, Embedder
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source, tokenizer_of
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
from keras_elmo.utils.temporary import naming_folder
from keras_elmo.utils.types import StrPath
from keras_elmo.words.clusters import Clusters
from keras_elmo.words.sentences import Text, read_corpus
from keras_elmo.words.token_vectors import layer_weights, mapped, normalize

# Occurrences of a word that groups are found in; the others go to the nearest group.
_GROUPED = 200
# The number of a word, and the vector of an occurrence.
_Occurrences = Iterator[tuple[int, np.ndarray]]


def distill(
    model: Source,
    corpus: Text,
    out: StrPath,
    layer: int | None = None,
    min_count: int = 5,
    progress: bool = False,
    *,
    senses: bool = False,
    tokenizer: str | None = None,
) -> int:
    """Writes one vector for each word of a text, the mean of its contextual vectors.

    The file has word2vec's text format, the most frequent word first: `StaticEmbedding`
    reads it, and so do gensim (`KeyedVectors.load_word2vec_format`) and spaCy
    (`spacy init vectors`). The text is read twice, first to count its words. The sum of
    each word is in memory, 8 bytes per number.

    Args:
        model: an `Encoder`, or a name or path or another model as of `load`.
        corpus: text files, as paths or glob patterns, one sentence per line; or a list
            of sentences, which are lists of tokens.
        out: the file to write or to replace.
        layer: layer of the vectors: 0 is the word without its context, -1 the top
            layer; `None` is the model's mix of the layers, or their mean.
        min_count: how often a word has to occur to have a vector.
        progress: whether to show words/s on stderr.
        senses: whether a word whose occurrences form groups also has a vector for each
            group, named `word#1` (the largest), `word#2` and so on. The vectors of all
            occurrences stand in a temporary file meanwhile, 4 bytes per number.
        tokenizer: how the text is split, a kind of `Tokenizer`; the model's if `None`.

    Returns:
        The number of vectors in the file.

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
    check_boolean(progress=progress, senses=senses)
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
    if senses:
        _check_names(words)
    units = 2 * encoder.config.projection_units

    def occurrences() -> _Occurrences:
        sentences, ahead = tee(read_corpus(corpus, splitting))
        embedded = Embedder(encoder).embed(ahead, BATCH_SIZE, mix)
        with Progress("Distilling", counts.total(), visible=progress) as bar:
            for tokens, vectors in zip(sentences, embedded, strict=True):
                for token, vector in zip(tokens, vectors, strict=True):
                    if token in rows:
                        yield rows[token], vector
                bar.update(len(tokens))

    make = _means_of_groups if senses else _means
    names, means = make(occurrences(), words, units)
    write_vector_file(out, names, means, units)
    return len(names)


def _means(
    occurrences: _Occurrences, words: Sequence[str], units: int
) -> tuple[Sequence[str], Iterator[np.ndarray]]:
    """Returns the words, and the mean vector of each."""
    sums, counts = np.zeros((len(words), units)), [0] * len(words)
    for row, vector in occurrences:
        sums[row] += vector
        counts[row] += 1
    means = zip(sums, counts, strict=True)
    return words, ((total / count).astype("float32") for total, count in means)


def _means_of_groups(
    occurrences: _Occurrences, words: Sequence[str], units: int
) -> tuple[Sequence[str], Iterator[np.ndarray]]:
    """Returns names and vectors: of each word, and of each group of its occurrences."""
    means: dict[str, np.ndarray] = {}
    places = [array("q") for _ in words]
    with naming_folder(), tempfile.TemporaryFile() as file:
        for place, (row, vector) in enumerate(occurrences):
            file.write(vector.astype("float32").tobytes())
            places[row].append(place)
        vectors = mapped(file, (sum(map(len, places)), units))
        for word, own in zip(words, places, strict=True):
            has_letter = any(map(str.isalpha, word))
            sums, counts = _sums_of_groups(vectors, own, has_letter)
            means[word] = sums.sum(axis=0) / len(own)
            if len(counts) > 1:
                for number, group in enumerate(np.argsort(-counts, kind="stable"), 1):
                    means[f"{word}#{number}"] = sums[group] / counts[group]
    return [*means], (vector.astype("float32") for vector in means.values())


def _sums_of_groups(
    vectors: np.ndarray, own: Sequence[int], is_grouped: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the sum of the vectors of each group, and their number.

    `own` are the places of a word's vectors; all are one group unless `is_grouped`.
    """
    num_spread = min(len(own), _GROUPED) if is_grouped else 0
    spread = np.linspace(0, len(own) - 1, num_spread).round().astype("int64")
    clusters = Clusters(normalize(vectors[[own[k] for k in spread]]))
    labels = dict(zip(spread.tolist(), clusters.labels.tolist(), strict=True))
    num_groups = 1 + max(labels.values(), default=0)
    sums = np.zeros((num_groups, vectors.shape[1]))
    counts = np.zeros(num_groups, "int64")
    for k, place in enumerate(own):
        vector = vectors[place]
        group = labels.get(k, 0)
        if num_groups > 1 and k not in labels:
            group = clusters.nearest(normalize(vector[np.newaxis])[0])
        sums[group] += vector
        counts[group] += 1
    return sums, counts


def _check_names(words: Iterable[str]) -> None:
    """Raises if the name of a group could be a word of the text."""
    known = set(words)
    for word in known:
        stem, sign, number = word.rpartition("#")
        if sign and stem in known and number.isdecimal():
            raise ValueError(
                f"{called('senses')} must be False for this text: its word {word!r} "
                f"could be the name of a group of {stem!r}"
            )


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
