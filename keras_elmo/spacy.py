"""ELMo as a component of spaCy's pipelines; needs the extra `spacy`.

spaCy imports this module, by an entry point, when a pipeline asks for `"elmo"`.
"""

from collections.abc import Iterable, Iterator
from itertools import tee
from typing import TypeAlias

import numpy as np

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.files.loading import open_model
from keras_elmo.text.sentence_ends import marks_of, split_sentence
from keras_elmo.utils.lazy import import_extra
from keras_elmo.words.token_vectors import layer_weights

import_extra("spacy", "The component of spaCy", "spacy")

from spacy.language import Language
from spacy.tokens import Doc, Span, Token

# Sentences of a batch, and words that are read as one sentence at most.
_BATCH_SIZE = 32
_MAX_TOKENS = 256
# The words of a sentence, and their places in the document.
Words: TypeAlias = tuple[list[bytes], list[int]]


class ElmoComponent:
    """Sets the contextual vectors of a document's tokens.

    The model reads the words as spaCy has split them, each sentence by itself if an
    earlier component has set sentences, else the document. What is longer than 256
    words is split, at an end of a sentence where there is one. White space, which spaCy
    keeps as tokens, is not read and has the vector 0.

    `doc.tensor` is the array `(tokens, units)`, `token.vector` its row; vectors and
    similarities of spans and documents are made of them. A saved pipeline holds the
    name of the model and no weights.

    Args:
        model: name or path of the model, as of `load`.
        layer: layer of the vectors: 0 is the word without its context, -1 the top
            layer; `None` is the model's mix of the layers, or their mean.

    Raises:
        ValueError: there is no such model or layer.

    Example:

    ```python
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("elmo", config={"model": "elmo-en"})
    river, money = nlp("the bank of the river"), nlp("the bank lends money")
    assert river.tensor.shape == (5, 512)
    assert river[1].similarity(money[1]) < 0.99
    ```
    """

    def __init__(self, model: str, layer: int | None) -> None:
        source = open_model(model)
        encoder = source.encoder()
        self._embedder = Embedder(encoder)
        self._mix = layer_weights(layer, source, encoder)
        self._units = 2 * encoder.config.projection_units

    def __call__(self, doc: Doc) -> Doc:
        """Sets the vectors of one document; `nlp.pipe` of many is faster."""
        (doc,) = self.pipe([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], **options: object) -> Iterator[Doc]:
        """Sets the vectors of documents, of which some are read ahead."""
        docs, ahead = tee((doc, [*_sentences(doc)]) for doc in stream)
        words = (words for _, sentences in ahead for words, _ in sentences)
        vectors = self._embedder.embed(words, _BATCH_SIZE, self._mix)
        for doc, sentences in docs:
            tensor = np.zeros((len(doc), self._units), "float32")
            for _, places in sentences:
                tensor[places] = next(vectors)
            doc.tensor = tensor
            # Else a pipeline's static vectors come first, and equal words are equal.
            doc.user_token_hooks |= {"vector": _vector, "has_vector": _has_vector}
            for hooks in (doc.user_hooks, doc.user_span_hooks, doc.user_token_hooks):
                hooks["similarity"] = _similarity
            yield doc


def _sentences(doc: Doc) -> Iterator[Words]:
    """Yields what is read as one sentence."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    for span in spans:
        tokens = [token for token in span if not token.is_space]
        words = [(token.text.encode(), token.i) for token in tokens]
        rows = split_sentence(words, _MAX_TOKENS, lambda word: marks_of(word[0]))
        for row in rows if words else ():
            yield [word for word, _ in row], [place for _, place in row]


def _vector(token: Token) -> np.ndarray:
    vector: np.ndarray = token.doc.tensor[token.i]
    return vector


def _has_vector(token: Token) -> bool:
    return not token.is_space


def _similarity(one: Doc | Span | Token, other: Doc | Span | Token) -> float:
    """Returns the cosine; 0 where a vector is 0."""
    vectors = [one.vector, other.vector]
    lengths = np.prod([np.linalg.norm(vector) for vector in vectors])
    return float(np.dot(*vectors) / lengths) if lengths else 0.0


@Language.factory("elmo", default_config={"model": "elmo-en", "layer": None})
def make_component(
    nlp: Language, name: str, model: str, layer: int | None
) -> ElmoComponent:
    """Makes the component of a pipeline's config."""
    return ElmoComponent(model, layer)
