"""Text that is prepared before a run: of an iterable, or in a named column."""

import dataclasses
import os
from collections.abc import Iterator
from itertools import chain
from typing import cast

from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import Files, are_files, is_prepared
from keras_elmo.text.prepared import PreparedText
from keras_elmo.text.preparing import prepare
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import called
from keras_elmo.utils.types import Config


def with_prepared_text(
    options: TrainingOptions, tokenizer: str | None, num_workers: int
) -> tuple[TrainingOptions, str | None]:
    """Prepares an iterable of texts, or a column, as `DIRECTORY.corpus`.

    A run that is resumed reads that folder again, and not the iterable.

    Returns:
        The options with folders in place of texts, and the tokenizer of these.
    """
    for name in ("corpus", "validation"):
        text, is_text, are_tokens = _looked_at(options, name)
        if not is_text:
            continue
        if num_workers > 1:
            raise ValueError(
                f"{called(name)} must be files, or a folder that `prepare` wrote, on "
                f"several workers. Received: {name}={text!r}"
            )
        folder = f"{os.path.normpath(options.directory)}.{name}"
        if not (options.resume and is_prepared(folder)):
            kind = None if are_tokens else tokenizer
            prepare(cast(Files, text), folder, kind, options.column, options.progress)
        tokenizer = PreparedText(folder).tokenizer
        changed: Config = {name: folder, "tokenizer": tokenizer}
        options = dataclasses.replace(options, **changed)
    return options, tokenizer


def _looked_at(options: TrainingOptions, name: str) -> tuple[object, bool, bool]:
    """Returns a corpus, whether to prepare it, and whether it is lists of tokens."""
    corpus, column = getattr(options, name), options.column
    if corpus is None or isinstance(corpus, Corpus):
        return corpus, False, False
    if are_files(corpus, name):
        return corpus, column is not None and not is_prepared(str(corpus)), False
    if column is not None:
        return corpus, True, False
    first: object = None
    if isinstance(corpus, list | tuple):
        first = corpus[0]
    elif isinstance(corpus, Iterator):
        # Batches have to be there again, so it has none.
        first = next(corpus, "")
        corpus = chain([first] if first else [], corpus)
    else:
        # Of `tf.data`, pandas or NumPy. Others are not begun to be read.
        dtype = getattr(getattr(corpus, "element_spec", corpus), "dtype", None)
        if str(getattr(dtype, "name", dtype)) in ("string", "object", "str"):
            return corpus, True, False
    are_tokens = isinstance(first, list | tuple)
    return corpus, are_tokens or isinstance(first, str | bytes), are_tokens
