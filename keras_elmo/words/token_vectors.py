"""Contextual vectors of the tokens of a text, as the arrays of an index."""

import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import tee
from typing import BinaryIO, NamedTuple

import numpy as np

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.files.sources import AnyEncoder
from keras_elmo.utils.checks import is_integer, refuse
from keras_elmo.utils.progress import Progress
from keras_elmo.utils.temporary import naming_folder
from keras_elmo.words.index_files import Arrays

_BATCH_SIZE = 128


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

    Args:
        encoder: computes the vectors.
        sentences: lists of tokens. One without a token to compare is left out.
        layers: layers whose vectors are kept.
        among: which tokens are compared.
        bar: shows the number of tokens.
        contexts: whether arrays follow whose vectors are those of `contexts_of`.
    """
    words: dict[str, int] = {}
    tokens, places, limits = array("i"), array("q"), array("q", [0])
    # `embed` reads some sentences ahead: only those are kept meanwhile.
    kept, ahead = tee(_with_places(sentences, among))
    # One layer alone is less to copy.
    alone = len(layers) == 1 and not contexts
    mix = one_layer(layers[0], encoder) if alone else None
    embedded = Embedder(encoder).embed(
        (tokens for tokens, _ in ahead), _BATCH_SIZE, mix, keep_boundaries=contexts
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
            kept_layers = [vectors] if mix is not None else [vectors[k] for k in layers]
            for file, layer in zip(files, kept_layers, strict=False):
                file.write(normalize(layer[compared]).tobytes())
            places.extend(len(tokens) + k for k in compared)
            tokens.extend(words.setdefault(word, len(words)) for word in sentence)
            limits.append(len(tokens))
            bar.update(len(sentence))
        shape = len(places), 2 * encoder.config.projection_units
        stored = [_mapped(file, shape) for file in files]
    encoded = [word.encode() for word in words]
    shared = {
        "places": np.array(places, "int64"),
        "tokens": np.array(tokens, "int32"),
        "sentence_limits": np.array(limits, "int64"),
        "words": np.frombuffer(b"".join(encoded), "uint8"),
        "word_limits": np.cumsum([0, *map(len, encoded)], dtype="int64"),
    }
    return [{"vectors": vectors, **shared} for vectors in stored]


def contexts_of(states: np.ndarray) -> np.ndarray:
    """Returns what the directions know at each token, which neither of them sees.

    Args:
        states: the top layer with its boundaries, `(tokens + 2, units)`.

    Returns:
        `(tokens, units)`: the half that reads forward from the place before, the other
        half from the place after.
    """
    units = states.shape[1] // 2
    return np.concatenate([states[:-2, :units], states[2:, units:]], axis=1)


def _mapped(file: BinaryIO, shape: tuple[int, int]) -> np.ndarray:
    """Maps a file, which lives as long as its map."""
    file.flush()
    # A file without a byte cannot be mapped.
    empty = np.empty(shape, "float32")
    return np.memmap(file, "float32", "r", shape=shape) if shape[0] else empty


def _with_places(
    sentences: Iterable[Sequence[str]], among: Callable[[str], bool] | None
) -> Iterator[tuple[Sequence[str], list[int]]]:
    """Yields the sentences with tokens to compare, and the positions of those."""
    for sentence in sentences:
        places = [k for k, word in enumerate(sentence) if not among or among(word)]
        if places:
            yield sentence, places


def check_among(among: Callable[[str], bool] | None) -> None:
    if among is not None and not callable(among):
        refuse("among", "a function of a token, or None", among)


def one_layer(layer: int, encoder: AnyEncoder) -> np.ndarray:
    """Returns the weights of a mix that is one layer.

    Raises:
        ValueError: there is no such layer.
    """
    layers = encoder.config.num_layers + 1
    if not is_integer(layer) or not -layers <= layer < layers:
        rule = f"one of the model's {layers}, {-layers} to {layers - 1}"
        refuse("layer", rule, layer)
    return np.eye(layers, dtype="float32")[layer]


def normalize(vectors: np.ndarray) -> np.ndarray:
    """Returns vectors of length 1; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
