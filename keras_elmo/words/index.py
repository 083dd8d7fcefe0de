"""Keeps the vectors of a text's tokens, to find those that mean the same as a word."""

import os
from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.embedding.parts import encoder_hash
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import AnyEncoder, Source, tokenizer_of
from keras_elmo.utils.checks import (
    check_at_least,
    check_boolean,
    check_choice,
    counted,
    refuse,
)
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.types import Config, StrPath
from keras_elmo.words.index_files import Arrays, build_graph, load_index, save_index
from keras_elmo.words.sentences import (
    Sentence,
    Text,
    find_word,
    read_corpus,
    read_sentence,
)
from keras_elmo.words.token_vectors import (
    Occurrence,
    Place,
    TokenTable,
    Words,
    checked_layer,
    normalize,
    token_arrays,
)


class Index(TokenTable):
    """The contextual vectors of a text's tokens, computed once and asked often.

    `build` makes one, `save` writes it to a folder, `load` maps that folder into memory
    without reading it all, and `query` finds the tokens with the greatest cosine.

    A query compares all vectors; a million vectors of the shipped models take 2 GB.
    Beyond that, build with `approximate=True`: a query then visits a few thousand nodes
    of a graph of neighbours (HNSW).

    Attributes:
        model: name or path of its model; `None` for a model in memory.
        layer: layer of the vectors.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    text = [["the", "bank", "lends", "money"], ["the", "bank", "of", "a", "river"]]
    keras_elmo.Index.build(encoder, text).save("my-index")

    index = keras_elmo.Index.load("my-index", encoder)
    for occurrence in index.query("bank", "we sat on the bank", num=2):
        print(occurrence.cosine, occurrence.word, occurrence.sentence)
    ```

    Reference: Malkov and Yashunin 2018, "Efficient and robust approximate nearest
    neighbor search using hierarchical navigable small world graphs".
    """

    def __init__(
        self,
        arrays: Arrays,
        description: Config,
        graph: Any = None,
        encoder: AnyEncoder | None = None,
    ) -> None:
        super().__init__(arrays)
        self._description = description
        self._graph = graph
        if encoder is not None:
            # Else it is loaded when it is first asked for.
            self.encoder = encoder
        self.model: str | None = description["model"]
        self.layer: int = description["layer"]

    def __repr__(self) -> str:
        model = f"model={self.model!r}, layer={self.layer}"
        return f"Index({counted(len(self), 'vector')}, {model})"

    @classmethod
    def build(
        cls,
        model: Source,
        corpus: Text,
        layer: int = -1,
        among: Callable[[str], bool] | None = None,
        approximate: bool = False,
        progress: bool = False,
        *,
        tokenizer: str | None = None,
    ) -> "Index":
        """Computes the vectors of a text; they stand in a temporary file meanwhile.

        Args:
            model: an `Encoder`, or a name or path or another model as of `load`.
            corpus: text files, as paths or glob patterns, one sentence per line; or
                sentences, as lists of tokens.
            layer: 0 is the token without its context, -1 the top layer.
            among: which tokens are indexed, such as `str.isalpha`; all if `None`.
            approximate: whether to build a graph for approximate search (extra
                `index`).
            progress: whether to show words/s on stderr.
            tokenizer: how the text is split, and the sentence of a query, a kind of
                `Tokenizer`; the model's if `None`.

        Raises:
            TypeError: a sentence of `corpus` is not a list of tokens, or `model` is no
                model.
            ValueError: there is no such model, layer or file, or a token is empty.
            ImportError: `approximate` without the extra.
        """
        check_boolean(approximate=approximate, progress=progress)
        if among is not None and not callable(among):
            refuse("among", "a function of a token, or None", among)
        if approximate:
            import_extra("usearch.index", "An approximate index", "index")
        encoder = open_model(model).encoder()
        layer = checked_layer(layer, encoder)
        sentences = read_corpus(corpus, tokenizer_of(encoder, tokenizer))
        with Progress("Indexing", visible=progress) as bar:
            (arrays,) = token_arrays(encoder, sentences, [layer], among, bar)
        name = os.fspath(model) if isinstance(model, str | os.PathLike) else None
        graph = build_graph(arrays["vectors"]) if approximate else None
        description = {"model": name, "layer": layer, "tokenizer": tokenizer}
        return cls(arrays, description, graph, encoder)

    def save(self, path: StrPath) -> None:
        """Writes a folder, or replaces one of an index.

        Raises:
            ValueError: something else stands there.
        """
        of_model = {"model": self.model, "model_hash": encoder_hash(self.encoder)}
        save_index(path, self._arrays, self._description | of_model, self._graph)

    @classmethod
    def load(cls, path: StrPath, model: Source | None = None) -> "Index":
        """Maps a folder that `save` wrote into memory.

        Args:
            path: the folder.
            model: its model; if `None`, the first query loads the name or path that the
                index was built with.

        Raises:
            ValueError: there is no index, it is damaged, `model` is another model, or
                `model` is `None` and the index knows no name.
            ImportError: an approximate index without the extra `index`.
        """
        index = cls(*load_index(path))
        if model is not None:
            index.encoder = index._opened(model)
        elif index.model is None:
            refuse("model", "given: the index was built with an object", None)
        return index

    @cached_property
    def encoder(self) -> AnyEncoder:
        """The model of the vectors."""
        return self._opened(str(self.model))

    def _opened(self, model: Source) -> AnyEncoder:
        encoder = open_model(model).encoder()
        if encoder_hash(encoder) != self._description["model_hash"]:
            rule = "the one that the index was built with; its weights differ"
            refuse("model", rule, self.model or encoder.name)
        return encoder

    def query(
        self, word: str, sentence: Sentence, num: int = 10, words: str = "any"
    ) -> list[Occurrence]:
        """Finds the tokens whose contextual vectors are closest to a word's.

        Args:
            word: a token of `sentence`; the first one if it occurs more than once.
            sentence: text, or a list of tokens.
            num: number of tokens to return.
            words: which tokens are compared: `"any"`, or `"same"`, those spelt as
                `word`, in upper or lower case; they are always compared exactly.

        Returns:
            A list of `Occurrence(cosine, sentence, position)`, the closest first. One
            at the same position of the same sentence as another, or as `word` itself,
            is left out.

        Raises:
            ValueError: `word` is no token of `sentence`, a token is empty, `words` has
                another value, or `num` is not positive.
        """
        check_at_least(1, num=num)
        check_choice(("any", "same"), words=words)
        kind = self._description.get("tokenizer")
        tokens = read_sentence(sentence, tokenizer_of(self.encoder, kind))
        position = find_word(word, tokens)
        (layers,) = self._embedder.embed([tokens], 1)
        same = tokens[position] if words == "same" else None
        here = position, tuple(tokens)
        return self.closest(layers[self.layer, position], num, same, here)

    def closest(
        self,
        vector: np.ndarray,
        num: int = 10,
        word: Words | None = None,
        left_out: Place | None = None,
    ) -> list[Occurrence]:
        """Finds the tokens whose contextual vectors are closest to a vector.

        Args:
            vector: of shape `(units,)`, such as `embed` yields.
            num: number of tokens to return.
            word: what the tokens are spelt as, in upper or lower case, or several
                such words; any if `None`.
            left_out: a position and the tokens of a sentence, which are not returned.

        Returns:
            As `query`.
        """
        check_at_least(1, num=num)
        units = self._arrays["vectors"].shape[1]
        if np.shape(vector) != (units,):
            refuse("vector", f"an array of shape ({units},)", vector)
        vector = normalize(vector)
        rows = None if word is None else self._rows_of(word)
        total = len(self) if rows is None else len(rows)
        count = 2 * num
        while True:
            closest = self._closest(vector, rows, min(count, total))
            places: dict[Place, float] = {}
            for row, cosine in zip(*map(np.ndarray.tolist, closest), strict=True):
                places.setdefault(self._place(row), cosine)
            if left_out is not None:
                places.pop(left_out, None)
            if len(places) >= num or count >= total:
                best = islice(places.items(), num)
                return [Occurrence(c, list(words), at) for (at, words), c in best]
            # Most of them were at the same place of equal sentences.
            count *= 4

    def _closest(
        self, vector: np.ndarray, rows: np.ndarray | None, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the rows of the greatest cosines, and those, the greatest first."""
        vectors = np.asarray(self._arrays["vectors"])
        if rows is None and self._graph is not None:
            rows = np.sort(self._graph.search(vector, count).keys.astype("int64"))
        cosines = (vectors if rows is None else vectors[rows]) @ vector
        best = np.arange(len(cosines))
        if count < len(cosines):
            best = np.argpartition(-cosines, count)[:count]
        best = best[np.lexsort((best, -cosines[best]))]
        return best if rows is None else rows[best], cosines[best]

    @cached_property
    def _embedder(self) -> Embedder:
        return Embedder(self.encoder)
