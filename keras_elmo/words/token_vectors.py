"""The arrays of an index: made of a text, and read as tokens in their sentences."""

import functools
import tempfile
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack
from functools import cached_property
from itertools import tee
from typing import BinaryIO, NamedTuple

import numpy as np

from keras_elmo.embedding.embedder import BATCH_SIZE, Embedder, layer_factors
from keras_elmo.files.sources import AnyEncoder, ModelSource
from keras_elmo.utils.checks import check_at_least, check_type, is_integer, refuse
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.temporary import naming_folder
from keras_elmo.words.index_files import Arrays

_KEPT_WORDS = 65_536
# A position in a sentence, and the sentence.
Place = tuple[int, tuple[str, ...]]
# A word, or several that count as one.
Words = str | Collection[str]


class Occurrence(NamedTuple):
    """A token of a text, and how close it is to the word that was asked for.

    Attributes:
        cosine: of the two contextual vectors.
        sentence: the tokens around it.
        position: of the token in the sentence, from 0.
    """

    cosine: float
    sentence: list[str]
    position: int

    @property
    def word(self) -> str:
        return self.sentence[self.position]


def token_arrays(
    encoder: AnyEncoder,
    sentences: Iterable[Sequence[str]],
    layers: Sequence[int],
    among: Callable[[str], bool] | None,
    bar: Progress,
    contexts: bool = False,
) -> list[Arrays]:
    """Returns the arrays of one index per layer; vectors are in temporary files.

    A sentence without a token to compare is left out. With `contexts`, arrays follow
    whose vectors are those of `contexts_of`.
    """
    words: dict[str, int] = {}
    tokens, places, limits = array("i"), array("q"), array("q", [0])
    # `embed` reads some sentences ahead: only those are kept meanwhile.
    kept, ahead = tee(_with_places(sentences, among))
    embedded = Embedder(encoder).embed(
        (tokens for tokens, _ in ahead), BATCH_SIZE, keep_boundaries=contexts
    )
    with naming_folder(), ExitStack() as stack:
        files = [
            stack.enter_context(tempfile.TemporaryFile())
            for _ in range(len(layers) + contexts)
        ]
        for (sentence, compared), vectors in zip(kept, embedded, strict=True):
            if contexts:
                files[-1].write(contexts_of(vectors[-1])[compared].tobytes())
                vectors = vectors[:, 1:-1]
            for file, layer in zip(files, layers, strict=False):
                file.write(normalize(vectors[layer][compared]).tobytes())
            places.extend(len(tokens) + k for k in compared)
            tokens.extend(words.setdefault(word, len(words)) for word in sentence)
            limits.append(len(tokens))
            bar.update(len(sentence))
        shape = len(places), 2 * encoder.config.projection_units
        stored = [mapped(file, shape) for file in files]
    encoded = [word.encode() for word in words]
    shared = {
        "places": np.array(places, "int64"),
        "tokens": np.array(tokens, "int32"),
        "sentence_limits": np.array(limits, "int64"),
        "words": np.frombuffer(b"".join(encoded), "uint8"),
        "word_limits": np.cumsum([0, *map(len, encoded)], dtype="int64"),
    }
    return [{"vectors": vectors, **shared} for vectors in stored]


def _with_places(
    sentences: Iterable[Sequence[str]], among: Callable[[str], bool] | None
) -> Iterator[tuple[Sequence[str], list[int]]]:
    """Yields the sentences with tokens to compare, and the positions of those."""
    for sentence in sentences:
        places = [k for k, word in enumerate(sentence) if not among or among(word)]
        if places:
            yield sentence, places


def contexts_of(states: np.ndarray) -> np.ndarray:
    """Returns what the directions know at each token, which neither sees.

    Of the top layer with its boundaries, `(tokens + 2, units)`, it has the half that
    reads forward from the place before a token, the other half from the place after.
    """
    units = states.shape[1] // 2
    return np.concatenate([states[:-2, :units], states[2:, units:]], axis=1)


def mapped(file: BinaryIO, shape: tuple[int, int]) -> np.ndarray:
    """Maps a file, which lives as long as its map."""
    file.flush()
    # A file without a byte cannot be mapped.
    empty = np.empty(shape, "float32")
    return np.memmap(file, "float32", "r", shape=shape) if shape[0] else empty


def layer_weights(
    layer: int | None, source: ModelSource, encoder: AnyEncoder
) -> np.ndarray:
    """Returns the weights of a layer, or for `None` those of the model's mix."""
    if layer is None:
        return layer_factors(source, encoder.config, "layer", "a number")
    layers = encoder.config.num_layers + 1
    return np.eye(layers, dtype="float32")[checked_layer(layer, encoder)]


def checked_layer(layer: int, encoder: AnyEncoder) -> int:
    """Returns the number of a layer from 0, or raises `ValueError`."""
    layers = encoder.config.num_layers + 1
    if not is_integer(layer) or not -layers <= layer < layers:
        rule = f"one of the model's {layers}, {-layers} to {layers - 1}"
        refuse("layer", rule, layer)
    return int(layer) % layers


def normalize(vectors: np.ndarray) -> np.ndarray:
    """Returns vectors of length 1; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


class TokenTable:
    """The tokens of a text that have vectors; base of `Index`."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._word = functools.lru_cache(_KEPT_WORDS)(self._read_word)

    def __len__(self) -> int:
        """Returns the number of vectors."""
        return len(self._arrays["vectors"])

    @property
    def words(self) -> Set[str]:
        """The distinct words of the text, in lower case."""
        return self._spellings.keys()

    def count(self, word: Words) -> int:
        """Returns how often a word, or several, has a vector, in any case."""
        return len(self._rows_of(word))

    def occurrences(self, word: Words, num: int) -> tuple[np.ndarray, list[Place]]:
        """Returns vectors of a word, `(occurrences, units)`, and where each stands.

        A place is a position and the tokens of the sentence; equal ones come once. Of
        more than `num`, `num` are taken from all over the text.
        """
        check_at_least(1, num=num)
        rows = self._rows_of(word)
        taken = np.linspace(0, len(rows) - 1, min(len(rows), num))
        places: dict[Place, int] = {}
        for row in rows[taken.round().astype("int64")].tolist():
            places.setdefault(self._place(row), row)
        return self._arrays["vectors"][[*places.values()]], [*places]

    def _place(self, row: int) -> Place:
        """Returns where the token of a row stands."""
        place = int(self._arrays["places"][row])
        limits, tokens = self._arrays["sentence_limits"], self._arrays["tokens"]
        sentence = int(np.searchsorted(limits, place, side="right")) - 1
        start, end = limits[sentence : sentence + 2].tolist()
        words = tuple(self._word(k) for k in tokens[start:end].tolist())
        return place - start, words

    def _rows_of(self, word: Words) -> np.ndarray:
        """Returns the rows of a word or of several, in upper or lower case."""
        rule = "a string, or several"
        check_type(Collection, rule, word=word)
        wanted = np.zeros(len(self._arrays["word_limits"]), bool)
        for spelling in [word] if isinstance(word, str) else word:
            check_type(str, rule, word=spelling)
            wanted[self._spellings.get(spelling.casefold(), [])] = True
        return np.flatnonzero(wanted[self._word_ids])

    def _read_word(self, k: int) -> str:
        start, end = self._arrays["word_limits"][k : k + 2].tolist()
        # A file may be damaged.
        return self._arrays["words"][start:end].tobytes().decode(errors="replace")

    @cached_property
    def _spellings(self) -> dict[str, list[int]]:
        """The numbers of the words that differ in case alone, by their lower case."""
        spellings: dict[str, list[int]] = {}
        for k in range(len(self._arrays["word_limits"]) - 1):
            spellings.setdefault(self._word(k).casefold(), []).append(k)
        return spellings

    @cached_property
    def _word_ids(self) -> np.ndarray:
        """The number of each row's word."""
        return self._arrays["tokens"][self._arrays["places"]]
