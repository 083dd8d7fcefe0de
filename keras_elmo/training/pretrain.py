"""Pretrains a biLM on text."""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import keras

from keras_elmo.config import TOKENIZER_IF_UNKNOWN, ElmoConfig
from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.sources import name_of
from keras_elmo.models.pretraining import PretrainingModel, build_pretraining_model
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.line_sources import json_path
from keras_elmo.text.lines import are_files
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.devices import choose_devices
from keras_elmo.training.loop import TrainingLoop
from keras_elmo.training.manifest import (
    DirectoryLock,
    learning_rate_config,
    prepare_run_directory,
)
from keras_elmo.training.memory_estimate import memory_message
from keras_elmo.training.optimizers import build_learning_rate, build_optimizer
from keras_elmo.training.recorder import RunRecorder
from keras_elmo.training.seeding import seeded
from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal
from keras_elmo.training.training_data import TrainingData
from keras_elmo.training.training_options import (
    VOCABULARY_SIZE,
    TrainingOptions,
    check_dtype,
)
from keras_elmo.training.warm_start import WarmStart
from keras_elmo.utils.checks import called
from keras_elmo.utils.memory import keep_freed_memory
from keras_elmo.utils.options import options_of, takes_options


@takes_options(TrainingOptions)
def pretrain(options: TrainingOptions) -> PretrainingModel:
    """Pretrains a biLM and keeps it in a directory.

    The published recipe: Adagrad with a learning rate of 0.2 and accumulators of 1.0,
    gradients of 20 times the loss clipped to a global norm of 10, sampled softmax,
    dropout. Adam, its gradients clipped to a global norm of 1, learns more in the same
    time (docs/training.md), above all with `schedule="cosine"`.

    The directory holds the best weights by validation perplexity (the last ones
    without a validation text) in the published format, the last checkpoints, the
    vocabulary and the learning curves; see `PretrainingDirectory`.

    A run that was killed at any moment is resumed by `resume` and the same arguments,
    and ends with the bits it would have ended with. SIGINT and SIGTERM finish the
    step, write a checkpoint and end the process.

    Args:
        {options}

    Returns:
        The model with its last weights.

    Raises:
        ValueError: an argument, a file of text or of the directory is invalid; the
            directory is used already, with `resume` by another run, or by another
            process.
        OSError: something cannot be written; what was there still is.
        Diverged: a loss is no number, or ten times its running mean; the checkpoints
            are of before.
        KeyboardInterrupt: after Ctrl-C, when the checkpoint is written.
        SystemExit: of status 0, after SIGTERM, when the checkpoint is written.

    Example:

    ```python
    with open("text.txt", "w", encoding="utf-8") as file:
        file.write("We sat on the bank of the river .\\n" * 20)
    keras_elmo.pretrain(
        keras_elmo.ElmoConfig.preset("tiny"),
        "text.txt",
        directory="run",
        num_sampled=8,
        steps=2,
        progress=False,
    )
    (vectors,) = keras_elmo.embed(keras_elmo.load("run"), [["the", "bank"]])
    print(vectors.shape)  # (3 layers, 2 words, 64 units)
    ```

    Reference: Peters et al. 2018, section 3.4.
    """
    log: Callable[[str], None] = _print if options.progress else lambda message: None
    dtype = keras.dtype_policies.get(options.dtype).name
    check_dtype(dtype)
    learning_rate = build_learning_rate(options)
    devices = choose_devices(options.devices)
    files = PretrainingDirectory(options.directory)
    checkpoints = Checkpoints(files.checkpoints, options.keep_checkpoints)
    start, config, tokenizer = _starting_point(options, files, checkpoints)
    data = TrainingData(
        options.corpus,
        options.validation,
        options.vocabulary_size,
        shard=(devices.worker, devices.num_workers),
        compiles=devices.compiles,
        tokenizer=tokenizer,
        batch_tokens=options.batch_tokens,
        max_tokens=options.max_tokens,
        seed=options.seed,
        token_vocabulary=config.token_vocabulary,
    )
    manifest = {
        # Before all else that depends on them.
        "kind_of_corpus": None,
        "corpus": None,
        **_fixed(options),
        "learning_rate": learning_rate_config(learning_rate),
        "dtype": dtype,
        **data.manifest,
    }
    keep_freed_memory()
    counted = CorpusStats()
    first_vocabulary = partial(_first_vocabulary, options, data, start, files, counted)
    with (
        SignalGuard() as guard,
        DirectoryLock(files.path) as lock,
        ExitStack() as random_state,
    ):
        if devices.is_chief:
            try:
                with guard.interruptible():
                    prepare_run_directory(
                        files,
                        lock,
                        config,
                        manifest,
                        first_vocabulary,
                        data.choose_shapes,
                        options.resume,
                        log,
                    )
            except Interrupted as interrupted:
                exit_for_signal(
                    interrupted.number, "stopped before the first step", log
                )
            _log_all(counted, config, log)
        devices.wait()
        vocabulary, batches, held_out = data.open(files)
        random_state.enter_context(seeded(options.seed))
        with devices.scope():
            num_words = len(vocabulary) if vocabulary else manifest["vocabulary_size"]
            model = build_pretraining_model(
                config, num_words, options.num_sampled, dtype
            )
            model.encoder.tokenizer = data.tokenizer
            model.vocabulary = vocabulary
            optimizer = build_optimizer(options.optimizer, learning_rate)
            positions = getattr(options.corpus, "batch_tokens", options.batch_tokens)
            log(
                memory_message(
                    model, optimizer.num_slots, positions, devices.num_replicas
                )
            )
            if start is not None:
                known = start.load_into(model)
                if known:
                    log(f"{known:,} words start with the softmax of {start.name}")
            # XLA makes an LSTM on a CPU slower, and cannot compile every op.
            model.compile(optimizer, jit_compile=keras.backend.backend() == "jax")
            optimizer.build(model.trainable_variables)
        recorder = RunRecorder(
            model,
            held_out,
            files,
            checkpoints,
            devices,
            learning_rate,
            options.tensorboard,
            log,
        )
        loop = TrainingLoop(
            model, batches, recorder, options, devices, data.shapes, log
        )
        loop.train(counted.words or None, options.progress, guard)
    if isinstance(batches, Corpus):
        report = batches.report
        if counted.lines:
            # The rest was logged when the words were counted.
            report = CorpusStats(
                used_lines=report.used_lines, split_lines=report.split_lines
            )
        _log_all(report, config, log)
    return model


def _starting_point(
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


def _fixed(options: TrainingOptions) -> dict[str, Any]:
    """Returns the options that a resumed run must not change."""
    fixed = {
        name: getattr(options, name)
        for name, declared in options_of(options).items()
        if declared.fixed
    }
    if options.init is not None:
        fixed["init"] = json_path(name_of(options.init))
    return fixed


def _first_vocabulary(
    options: TrainingOptions,
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
    return Vocabulary.count(
        options.corpus,
        str(data.tokenizer),
        max_size=options.vocabulary_size or VOCABULARY_SIZE,
        max_distinct=options.max_distinct,
        progress=options.progress,
        report=counted,
    )


def _log_all(
    report: CorpusStats, config: ElmoConfig, log: Callable[[str], None]
) -> None:
    for message in report.messages(config):
        log(message)


def _print(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
