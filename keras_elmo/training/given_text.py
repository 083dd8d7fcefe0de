"""Text that is prepared before a run: of an iterable, or in a named column."""

import dataclasses
import os

from keras_elmo.text.corpus import Corpus
from keras_elmo.text.line_sources import with_kind
from keras_elmo.text.lines import is_prepared
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
        text, column = getattr(options, name), options.column
        if text is None or isinstance(text, Corpus):
            continue
        text, kind = with_kind(text, name)
        is_read = kind == "files" and (column is None or is_prepared(str(text)))
        if is_read or (kind is None and column is None):
            options = dataclasses.replace(options, **{name: text})
            continue
        if num_workers > 1:
            raise ValueError(
                f"{called(name)} must be files, or a folder that `prepare` wrote, on "
                f"several workers. Received: {name}={text!r}"
            )
        folder = f"{os.path.normpath(options.directory)}.{name}"
        if not (options.resume and is_prepared(folder)):
            tokenizer = None if kind == "tokens" else tokenizer
            prepare(text, folder, tokenizer, column, options.progress)
        tokenizer = PreparedText(folder).tokenizer
        changed: Config = {name: folder, "tokenizer": tokenizer}
        options = dataclasses.replace(options, **changed)
    return options, tokenizer
