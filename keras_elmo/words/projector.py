"""Writes the vectors of a word in context for the TensorBoard embedding projector."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, tee

import numpy as np

from keras_elmo.embedding.embedder import embed
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source
from keras_elmo.models.encoder import Encoder
from keras_elmo.text.token_lists import Sentence, utf8_tokens
from keras_elmo.utils.checks import check_path, check_type
from keras_elmo.utils.files import replacing_text
from keras_elmo.utils.types import StrPath
from keras_elmo.words.token_vectors import one_layer

_CONFIG = """\
embeddings {
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def write_projector(
    encoder: Source,
    sentences: Iterable[Sentence],
    word: str,
    directory: StrPath,
    layer: int | None = None,
) -> int:
    """Writes the vector of each occurrence of a word for the embedding projector.

    `tensorboard --logdir DIRECTORY` shows the vectors; start it when they are there.
    With `--logdir` of a folder above, `directory` must hold an event file, too, such as
    one of `keras.callbacks.TensorBoard`. At projector.tensorflow.org, load vectors.tsv
    and metadata.tsv.

    Args:
        encoder: an `Encoder`, or a name or path or another model as of `load`.
        sentences: lists of tokens, which are read once.
        word: a token; other spellings are other words.
        directory: the folder of vectors.tsv, metadata.tsv (the sentence with the word
            in brackets, and the position of the word) and projector_config.pbtxt, which
            are written or replaced. Other files in it are kept.
        layer: layer of the vectors: 0 is the word without its context; `None` is the
            mean over the layers.

    Returns:
        The number of vectors.

    Raises:
        TypeError: a sentence is a string instead of a list of tokens, or `encoder` is
            no model.
        ValueError: the word is in no sentence, a token is empty, or there is no such
            model or layer.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    sentences = [["the", "bank", "lends", "money"], ["the", "bank", "of", "a", "river"]]
    keras_elmo.write_projector(encoder, sentences, "bank", "projector")
    ```
    """
    check_type(Iterable, "lists of tokens", sentences=sentences)
    check_type(str, "a string", word=word)
    check_path(directory=directory)
    loaded = open_model(encoder, "encoder").encoder()
    if layer is not None:
        one_layer(layer, loaded)
    occurrences = _occurrences(loaded, sentences, word.encode(), layer)
    first = next(occurrences, None)
    if first is None:
        raise ValueError(
            f"`word` must be a token of one of the sentences. Received: word={word!r}"
        )
    num_vectors = 0
    # The last file opened gets its name first: the config comes after what it names.
    with (
        replacing_text(os.path.join(directory, "projector_config.pbtxt")) as config,
        replacing_text(os.path.join(directory, "metadata.tsv")) as metadata,
        replacing_text(os.path.join(directory, "vectors.tsv")) as vectors,
    ):
        config.write(_CONFIG)
        metadata.write("sentence\tposition\n")
        for tokens, position, vector in chain([first], occurrences):
            metadata.write(f"{_mark_word(tokens, position)}\t{position}\n")
            # As few digits as tell one float32 from the next.
            vectors.write("\t".join(map(str, vector)) + "\n")
            num_vectors += 1
    return num_vectors


def _occurrences(
    encoder: Encoder, sentences: Iterable[Sentence], word: bytes, layer: int | None
) -> Iterator[tuple[list[bytes], int, np.ndarray]]:
    """Yields the sentence, the position of the word in it, and its vector."""
    # Only the sentences with the word are embedded.
    chosen, ahead = tee(
        tokens for tokens in map(utf8_tokens, sentences) if word in tokens
    )
    for tokens, layers in zip(chosen, embed(encoder, ahead), strict=True):
        vectors = layers.mean(axis=0) if layer is None else layers[layer]
        for position, token in enumerate(tokens):
            if token == word:
                yield tokens, position, vectors[position]


def _mark_word(tokens: list[bytes], position: int) -> str:
    """Returns the sentence as one cell of a table."""
    # White space in a token would end the cell or the line.
    words = [re.sub(r"\s", " ", token.decode(errors="replace")) for token in tokens]
    words[position] = f"[{words[position]}]"
    return " ".join(words)
