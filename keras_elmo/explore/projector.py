"""A word's vectors in context, as files for the TensorBoard embedding projector."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, tee
from typing import TextIO

import numpy as np

from keras_elmo.embedding.embedder import Sentence, embed, utf8_tokens
from keras_elmo.models.encoder import Encoder
from keras_elmo.utils.files import replacing

_CONFIG = """\
embeddings {
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def write_projector(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    word: str,
    directory: str | os.PathLike[str],
    layer: int | None = None,
) -> int:
    """Writes the vector of a word wherever it occurs, for the embedding projector.

    `tensorboard --logdir DIRECTORY` shows them, if they are there when it starts. Of a
    folder above, TensorBoard looks only into the folders below that are runs: there,
    `directory` has to hold an event file, too, as `keras.callbacks.TensorBoard` writes
    them. projector.tensorflow.org takes vectors.tsv and metadata.tsv by hand.

    Args:
        encoder: the biLM; its weights stay as they are.
        sentences: lists of tokens; they are read one after the other.
        word: a token; another spelling or case is another word.
        directory: where vectors.tsv, metadata.tsv (the sentence, with the word in
            brackets, and the word's position in it, from 0) and projector_config.pbtxt
            are written or replaced; other files there stay.
        layer: which of the biLM's layers, 0 being the word by itself; None is their
            mean.

    Returns:
        How many vectors there are.

    Raises:
        TypeError: a sentence is a string instead of a list of tokens.
        ValueError: the word is in no sentence, a token is empty, or there is no such
            layer.
        ImportError: TensorFlow, which spells the tokens out, is not installed.
    """
    num_layers = encoder.config.num_layers
    if layer is not None and not 0 <= layer <= num_layers:
        raise ValueError(
            f"`layer` must be None or from 0 to {num_layers}. Received: layer={layer}"
        )
    occurrences = _occurrences(encoder, sentences, word.encode(), layer)
    first = next(occurrences, None)
    if first is None:
        raise ValueError(
            f"`word` must be a token of one of the sentences. Received: word={word!r}"
        )
    num_vectors = 0
    with contextlib.ExitStack() as stack:
        # The last one opened is the first in place: the config comes after the files
        # that it names.
        config, metadata, vectors = (
            stack.enter_context(_file_in_place(os.path.join(directory, name)))
            for name in ("projector_config.pbtxt", "metadata.tsv", "vectors.tsv")
        )
        config.write(_CONFIG)
        metadata.write("sentence\tposition\n")
        for tokens, position, vector in chain([first], occurrences):
            metadata.write(f"{_marked(tokens, position)}\t{position}\n")
            # As few digits as tell one float32 from the next.
            vectors.write("\t".join(map(str, vector)) + "\n")
            num_vectors += 1
    return num_vectors


def _occurrences(
    encoder: Encoder, sentences: Iterable[Sentence], word: bytes, layer: int | None
) -> Iterator[tuple[list[bytes], int, np.ndarray]]:
    """Yields the sentence, the position in it, and the vector."""
    # A vector depends on its own sentence alone, so the others need none.
    chosen, ahead = tee(
        tokens for tokens in map(utf8_tokens, sentences) if word in tokens
    )
    for tokens, layers in zip(chosen, embed(encoder, ahead), strict=True):
        vectors = layers.mean(axis=0) if layer is None else layers[layer]
        for position, token in enumerate(tokens):
            if token == word:
                yield tokens, position, vectors[position]


def _marked(tokens: list[bytes], position: int) -> str:
    """The sentence as one cell of a table."""
    # A token may hold what ends a cell or a line, for whoever reads them.
    words = [re.sub(r"\s", " ", token.decode(errors="replace")) for token in tokens]
    words[position] = f"[{words[position]}]"
    return " ".join(words)


@contextlib.contextmanager
def _file_in_place(path: str) -> Iterator[TextIO]:
    """Yields a file to write, which has its name when it is complete."""
    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            yield file
