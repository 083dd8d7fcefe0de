"""What a run begins with: sizes, weights, text, words."""

import dataclasses
import os

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, ElmoConfig
from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.sources import name_of
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.line_sources import json_path, with_kind
from keras_elmo.text.lines import are_files, is_prepared
from keras_elmo.text.prepared import PreparedText
from keras_elmo.text.preparing import prepare
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.keras_configs import config_of
from keras_elmo.training.recipes import Recipe
from keras_elmo.training.training_data import TrainingData
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.training.warm_start import WarmStart
from keras_elmo.utils.checks import called
from keras_elmo.utils.options import options_of
from keras_elmo.utils.types import Config


def starting_point(
    options: TrainingOptions, files: PretrainingDirectory, checkpoints: Checkpoints
) -> tuple[WarmStart | None, ElmoConfig, str | None]:
    """Returns the weights to start from, the sizes, and the tokenizer, if known."""
    config, tokenizer = options.config, options.tokenizer
    if options.resume and files.holds_a_run() and os.path.exists(files.options):
        config = config or ElmoConfig.from_options(files.options)
        tokenizer = tokenizer or files.read_manifest().get("tokenizer")
    if options.init is None:
        if config is None:
            raise ValueError(
                f"{called('config')} may be None only where {called('init')} is given, "
                "or a run is resumed. Received: both are None"
            )
        return None, config, tokenizer
    if config is not None and options.resume and checkpoints.steps():
        # The run has what it took from there, which may be gone by now.
        return None, config, tokenizer
    start = WarmStart(options.init)
    return (
        start,
        start.checked(config),
        tokenizer or start.tokenizer or TOKENIZER_IF_UNKNOWN,
    )


def fixed_options(options: TrainingOptions) -> Config:
    """Returns the options that a resumed run must not change."""
    fixed = {
        name: getattr(options, name)
        for name, declared in options_of(options).items()
        if declared.fixed
    }
    if options.init is not None:
        fixed["init"] = json_path(name_of(options.init))
    if not isinstance(options.optimizer, str):
        fixed["optimizer"] = config_of(options.optimizer)
    if options.num_sampled is None:
        # Chosen when the words are known.
        del fixed["num_sampled"]
    return fixed


def first_vocabulary(
    options: TrainingOptions,
    recipe: Recipe,
    data: TrainingData,
    start: WarmStart | None,
    files: PretrainingDirectory,
    counted: CorpusStats,
) -> Vocabulary | None:
    """Returns the words to predict: given, those of `init`, or counted."""
    if not are_files(options.corpus):
        return data.vocabulary
    if options.init is not None and options.vocabulary_size is None:
        try:
            words = (start or WarmStart(options.init)).vocabulary
        except ValueError as error:
            raise ValueError(
                f"{files.vocabulary}: is lost, and {called('init')}, which it came "
                f"from, cannot be read: {error}"
            ) from error
        if words is not None:
            return words
    words = Vocabulary.count(
        options.corpus,
        str(data.tokenizer),
        max_size=options.vocabulary_size or recipe.most_words,
        max_distinct=options.max_distinct,
        progress=options.progress,
        report=counted,
    )
    return recipe.vocabulary(words, options.vocabulary_size is not None)


def with_prepared_text(
    options: TrainingOptions, tokenizer: str | None, num_workers: int
) -> tuple[TrainingOptions, str | None]:
    """Prepares an iterable of texts, or a column, as `DIRECTORY.corpus`.

    A run that is resumed reads that folder again, and not the iterable. Returns the
    options with folders in place of texts, and the tokenizer of these.
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
