"""Text that is prepared before a run: of an iterable, or in a named column."""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
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
        text, is_text, are_tokens = _looked_at(getattr(options, name), options.column)
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


def _looked_at(corpus: object, column: str | None) -> tuple[object, bool, bool]:
    """Returns a corpus, whether to prepare it, and whether it is lists of tokens."""
    if corpus is None or isinstance(corpus, Corpus):
        return corpus, False, False
    if are_files(corpus):
        return corpus, column is not None and not is_prepared(str(corpus)), False
    if not isinstance(corpus, Iterable):
        return corpus, False, False
    first: object = next(iter(corpus), None)
    if isinstance(corpus, Iterator):
        corpus = chain([] if first is None else [first], corpus)
    if isinstance(first, Mapping):
        if "token_ids" in first or column is None:
            # Batches.
            return corpus, False, False
        first = first.get(column)
    is_text = isinstance(first, str | bytes) or _is_string(first)
    are_tokens = isinstance(first, list | tuple)
    return corpus, is_text or are_tokens, are_tokens


def _is_string(item: object) -> bool:
    """Whether an item is a string of TensorFlow or NumPy."""
    dtype = getattr(item, "dtype", None)
    kind = getattr(dtype, "kind", None)
    return getattr(dtype, "name", None) == "string" or kind in ("S", "U")
