"""Text in, a pretrained biLM out."""

import os
import sys
from typing import Any

import keras

from keras_elmo.config import ElmoConfig
from keras_elmo.files.directory import PretrainingDirectory
from keras_elmo.models.pretraining import PretrainingModel, build_pretraining_model
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.report import Report
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.batches import is_text
from keras_elmo.training.optimizer import PublishedAdagrad
from keras_elmo.training.run import Limits, Run

_REASONS_AGAINST = {
    "bfloat16": ": updates smaller than a weight's last digit would be lost",
    "float16": ": it overflows under the recipe's gradients of 20 times the loss",
}


def pretrain(
    config: ElmoConfig,
    corpus: Any,
    validation: Any = None,
    directory: str | os.PathLike[str] = "runs/elmo",
    *,
    tokenizer: str = "unicode",
    vocabulary_size: int = 50_000,
    num_sampled: int = 8192,
    batch_tokens: int = 1280,
    max_tokens: int = 66,
    learning_rate: float = 0.2,
    dtype: str | None = None,
    seed: int = 0,
    steps: int | None = None,
    epochs: int | None = None,
    minutes: float | None = None,
    validate_every: int = 1000,
    resume: bool = False,
    progress: bool = True,
) -> PretrainingModel:
    """Pretrains a biLM with the published recipe, and keeps it in a directory.

    The recipe: Adagrad with a learning rate of 0.2 and accumulators of 1.0, gradients
    of 20 times the loss clipped to a global norm of 10, sampled softmax, dropout. The
    directory holds the best weights by validation perplexity (the last ones without a
    validation text) in the published format, the last state, the vocabulary and the
    learning curves; see `PretrainingDirectory`.

    Args:
        config: the sizes and the dropout rate.
        corpus: text files, as paths or glob patterns: UTF-8, a sentence or paragraph
            a line, plain, .gz or .xz. Or ready-made batches, dictionaries of `char_ids`
            and `token_ids` in something that can be iterated more than once; then
            `vocabulary_size` is the exact number of target ids.
        validation: held-out text or batches of the same kind.
        directory: where the run is kept.
        tokenizer: what cuts text into words, `"unicode"` or `"whitespace"`.
        vocabulary_size: words of the softmax at most, the special ones included.
        num_sampled: candidates of the sampled softmax.
        batch_tokens: positions of a batch.
        max_tokens: positions of a row, its two boundaries included.
        learning_rate: of Adagrad.
        dtype: dtype policy, `"float32"` or `"mixed_bfloat16"`, whose weights and sums
            are float32 and whose products are bfloat16; Keras's global one if `None`.
        seed: of initial weights, order of the text, dropout, and candidates.
        steps: number of updates to stop after.
        epochs: passes over the corpus to stop after; 10, if nothing else ends the run.
        minutes: time to stop after, in this process.
        validate_every: steps between two measurements and checkpoints.
        resume: whether to go on with the run that `directory` holds.
        progress: whether to show bars and messages on stderr.

    Returns:
        The model with its last weights.

    Raises:
        ValueError: an argument, a file of text or of the directory is not what it has
            to be; the directory is used already, or, with `resume`, by another run.
        KeyboardInterrupt: after Ctrl-C, when the checkpoint is written.

    Reference: Peters et al. 2018, section 3.4.
    """
    _check_positive(
        steps=steps, epochs=epochs, minutes=minutes, validate_every=validate_every
    )
    dtype = keras.dtype_policies.get(dtype).name
    _check_dtype(dtype)
    files = PretrainingDirectory(directory)
    _check_directory(files, resume)
    keras.utils.set_random_seed(seed)
    tell = _tell if progress else _keep_quiet
    recipe: dict[str, Any] = {"num_sampled": num_sampled, "seed": seed}
    vocabulary = words = None
    batches, held_out = corpus, validation
    if is_text(corpus):
        vocabulary, words = _vocabulary(
            files, corpus, tokenizer, vocabulary_size, progress, tell
        )
        options = (vocabulary, tokenizer, batch_tokens, max_tokens, seed)
        batches = Corpus(corpus, *options)
        held_out = None if validation is None else Corpus(validation, *options)
        vocabulary_size = len(vocabulary)
        recipe |= {"batch_tokens": batch_tokens, "max_tokens": max_tokens}
    recipe |= {
        "tokenizer": None if vocabulary is None else tokenizer,
        "vocabulary_size": vocabulary_size,
        "learning_rate": learning_rate,
        "dtype": dtype,
    }
    _check_recipe(files, config, recipe)
    if steps is None and minutes is None and epochs is None:
        epochs = 10
    model = build_pretraining_model(config, vocabulary_size, num_sampled, dtype)
    model.encoder.tokenizer = recipe["tokenizer"]
    model.vocabulary = vocabulary
    model.compile(
        optimizer=PublishedAdagrad(learning_rate),
        # XLA makes an LSTM on a CPU slower, and cannot compile every op.
        jit_compile=keras.backend.backend() == "jax",
    )
    model.optimizer.build(model.trainable_variables)
    files.write_recipe(config, recipe, vocabulary)
    Run(model, batches, held_out, files, Limits(steps, epochs, minutes)).train(
        validate_every=validate_every, words_per_epoch=words, progress=progress
    )
    if isinstance(batches, Corpus):
        _tell_split_lines(batches.report, tell)
    return model


def _check_positive(**arguments: float | None) -> None:
    for name, value in arguments.items():
        if value is not None and not value > 0:
            raise ValueError(f"`{name}` must be positive. Received: {name}={value}")


def _check_dtype(dtype: str) -> None:
    if dtype in ("float32", "mixed_bfloat16"):
        return
    reason = _REASONS_AGAINST.get(dtype.removeprefix("mixed_"), "")
    raise ValueError(
        f"`dtype` must be 'float32' or 'mixed_bfloat16'{reason}. "
        f"Received: dtype={dtype!r}"
    )


def _tell_split_lines(report: Report, tell: Any) -> None:
    # All else was told when the words were counted.
    split = Report(lines=report.lines, split_lines=report.split_lines)
    for message in split.messages():
        tell(message)


def _check_directory(files: PretrainingDirectory, resume: bool) -> None:
    used = os.path.exists(files.training)
    if used and not resume:
        raise ValueError(
            f"`directory` must not hold a run yet, unless `resume` is set: {files.path}"
        )
    if os.path.exists(files.path) and not used and os.listdir(files.path):
        raise ValueError(
            "`directory` must be empty, or not exist, or hold a run: "
            f"{files.path} holds something else"
        )
    if resume and not used:
        raise ValueError(f"`resume` is set, but {files.path} holds no run")


def _vocabulary(
    files: PretrainingDirectory,
    corpus: Any,
    tokenizer: str,
    size: int,
    progress: bool,
    tell: Any,
) -> tuple[Vocabulary, int | None]:
    """Counts the words of the corpus, or reads what a run before has counted."""
    if os.path.exists(files.vocabulary):
        return files.read_vocabulary(), None
    report = Report()
    vocabulary = Vocabulary.count(
        corpus, tokenizer, max_size=size, progress=progress, report=report
    )
    for message in report.messages():
        tell(message)
    return vocabulary, report.words


def _check_recipe(
    files: PretrainingDirectory, config: ElmoConfig, recipe: dict[str, Any]
) -> None:
    """A run goes on as it began, or not at all."""
    before = files.read_recipe()
    if not before:
        return
    if ElmoConfig.from_options(files.options) != config:
        raise ValueError(f"`config` must be that of the run: {files.options}")
    # Runs of old do not say: they had one type.
    before = {"dtype": "float32", **before}
    for name, value in recipe.items():
        if before.get(name) != value:
            raise ValueError(
                f"`{name}` must be {before.get(name)!r}, as in {files.training}. "
                f"Received: {name}={value!r}"
            )


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _keep_quiet(message: str) -> None:
    pass
