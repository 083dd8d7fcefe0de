"""Text in, a pretrained biLM out."""

import os
import sys
from typing import Any

import keras

from keras_elmo.config import ElmoConfig
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.models.pretraining import PretrainingModel, build_pretraining_model
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import is_text
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.checkpoint import Checkpoints
from keras_elmo.training.data import ReadyBatches, TrainingText
from keras_elmo.training.devices import choose_devices
from keras_elmo.training.hardware import dtype_message, memory_message
from keras_elmo.training.loop import StopCriteria, TrainingLoop
from keras_elmo.training.optimizers import build_optimizer, default_learning_rate
from keras_elmo.training.recorder import RunRecorder
from keras_elmo.training.run_directory import (
    DirectoryLock,
    check_dtype,
    check_seed,
    learning_rate_config,
    prepare_run_directory,
    readable_path,
)
from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal
from keras_elmo.training.warm_start import WarmStart
from keras_elmo.utils.checks import check_positive

_VOCABULARY_SIZE = 50_000


def pretrain(
    config: ElmoConfig | None,
    corpus: Any,
    validation: Any = None,
    directory: str | os.PathLike[str] = "runs/elmo",
    *,
    init: str | os.PathLike[str] | None = None,
    tokenizer: str | None = None,
    vocabulary_size: int | None = None,
    max_distinct: int = 20_000_000,
    num_sampled: int = 8192,
    batch_tokens: int = 1280,
    max_tokens: int = 66,
    optimizer: str = "adagrad",
    learning_rate: Any = None,
    dtype: str | None = None,
    seed: int = 0,
    devices: int | None = None,
    steps: int | None = None,
    epochs: int | None = None,
    minutes: float | None = None,
    patience: int | None = None,
    validate_every: int = 1000,
    checkpoint_every: int | None = None,
    checkpoint_minutes: float = 10.0,
    keep_checkpoints: int = 3,
    tensorboard: bool = False,
    resume: bool = False,
    progress: bool = True,
) -> PretrainingModel:
    """Pretrains a biLM, with the published recipe or Adam, and keeps it in a directory.

    The published recipe: Adagrad with a learning rate of 0.2 and accumulators of 1.0,
    gradients of 20 times the loss clipped to a global norm of 10, sampled softmax,
    dropout. Adam, its gradients clipped to a global norm of 1, learns more in the same
    time (docs/training.md), above all with a learning rate that rises at first and
    then falls to 0.

    The directory holds the best weights by validation perplexity (the last ones
    without a validation text) in the published format, the last checkpoints, the
    vocabulary and the learning curves; see `PretrainingDirectory`.

    A run that was killed at any moment goes on with `resume` and the same arguments,
    and ends with the bits it would have ended with. SIGINT and SIGTERM finish the
    step, write a checkpoint and end the process.

    Args:
        config: the sizes and the dropout rate; `None`, with `init`, for its sizes.
        corpus: text files, as paths or glob patterns: UTF-8, a sentence or paragraph
            a line, plain, .gz or .xz. Or a `Corpus`, whose words are predicted. Or
            ready-made batches, dictionaries of `char_ids` and `token_ids` in something
            that can be iterated more than once; then `vocabulary_size` is the exact
            number of target ids, and has to be given.
        validation: held-out text, where `corpus` is text; else a `Corpus` or batches.
        directory: where the run is kept.
        init: a pretraining directory, exported model or imported published weights to
            begin from. The optimizer begins afresh.
        tokenizer: what cuts text into words, `"unicode"` or `"whitespace"`; that of
            `init`, if it is known, or `"unicode"`.
        vocabulary_size: words of the softmax at most, the special ones included. If it
            is given together with `init`, the words of the new text are counted, the
            softmax's rows of words that both know are kept, and the others begin
            afresh; else the words of `init` are kept, if it has any.
        max_distinct: distinct words that are held while words are counted, at about
            150 bytes each; beyond that the rarest are dropped, and it is said.
        num_sampled: candidates of the sampled softmax.
        batch_tokens: positions of a batch.
        max_tokens: positions of a row, its two boundaries included.
        optimizer: `"adagrad"` or `"adam"`.
        learning_rate: a number or a Keras `LearningRateSchedule`; 0.2 for Adagrad and
            0.002 for Adam if `None`.
        dtype: dtype policy, `"float32"` or `"mixed_bfloat16"`, whose weights and sums
            are float32 and whose products are bfloat16; Keras's global one if `None`.
        seed: of initial weights, order of the text, dropout, and candidates.
        devices: devices of this process that share each batch; all GPUs, or the CPU,
            if `None`. See `choose_devices` for several processes.
        steps: number of updates to stop after.
        epochs: passes over the corpus to stop after; 10, if nothing else ends the run.
        minutes: time to stop after, in this process.
        patience: measurements without a lower validation perplexity to stop after.
        validate_every: steps between two measurements, after each of which a
            checkpoint is written.
        checkpoint_every: steps between two further checkpoints.
        checkpoint_minutes: time between two checkpoints at most.
        keep_checkpoints: how many of the last checkpoints are kept.
        tensorboard: whether to write the learning curves for TensorBoard, too.
        resume: whether to go on with the run that `directory` holds; if it holds none,
            one begins.
        progress: whether to show bars and messages on stderr.

    Returns:
        The model with its last weights.

    Raises:
        ValueError: an argument, a file of text or of the directory is not what it has
            to be; the directory is used already, with `resume` by another run, or by
            another process.
        OSError: something cannot be written; what was there still is.
        Diverged: a loss is no number, or ten times its running mean; the checkpoints
            are of before.
        KeyboardInterrupt: after Ctrl-C, when the checkpoint is written.
        SystemExit: of status 0, after SIGTERM, when the checkpoint is written.

    Reference: Peters et al. 2018, section 3.4.
    """
    if learning_rate is None:
        learning_rate = default_learning_rate(optimizer)
    check_positive(
        learning_rate=None if callable(learning_rate) else learning_rate,
        vocabulary_size=vocabulary_size,
        num_sampled=num_sampled,
        devices=devices,
        keep_checkpoints=keep_checkpoints,
    )
    if patience is not None and validation is None:
        raise ValueError(
            "`patience` needs a `validation` text. "
            f"Received: patience={patience}, validation=None"
        )
    check_seed(seed)
    dtype = keras.dtype_policies.get(dtype).name
    check_dtype(dtype)
    if steps is None and minutes is None and epochs is None:
        epochs = 10
    plan = StopCriteria(
        steps,
        epochs,
        minutes,
        patience,
        validate_every,
        checkpoint_every,
        checkpoint_minutes,
    )
    strategy = choose_devices(devices)
    files = PretrainingDirectory(directory)
    checkpoints = Checkpoints(files.checkpoints, keep_checkpoints)
    origin = None
    if init is not None and resume and checkpoints.steps():
        # The run has what it took from there, which may be gone by now.
        config = config or ElmoConfig.from_options(files.options)
        tokenizer = tokenizer or files.read_manifest().get("tokenizer")
    elif init is not None:
        origin = WarmStart(init)
        config = origin.checked(config)
        tokenizer = tokenizer or origin.tokenizer
    elif config is None:
        raise ValueError(
            "`config` may be None only where `init` is given. Received: both are None"
        )
    manifest: dict[str, Any] = {
        # Before all else that depends on them.
        "kind_of_corpus": None,
        "corpus": None,
        "init": None if init is None else readable_path(init),
        "vocabulary_size": vocabulary_size,
        "num_sampled": num_sampled,
        "optimizer": optimizer,
        "learning_rate": learning_rate_config(learning_rate),
        "dtype": dtype,
        "seed": seed,
    }
    source: TrainingText | ReadyBatches
    if not is_text(corpus):
        source = ReadyBatches(corpus, validation, vocabulary_size)
    else:
        source = TrainingText(
            corpus,
            validation,
            tokenizer or "unicode",
            batch_tokens,
            max_tokens,
            seed,
            share=(strategy.worker, strategy.num_workers),
        )
    manifest |= source.manifest
    log = _log if progress else _keep_quiet
    counted = CorpusStats()

    def first_vocabulary() -> Vocabulary | None:
        if isinstance(source, ReadyBatches):
            return source.vocabulary
        if init is not None and vocabulary_size is None:
            words = (origin or _origin_of_lost_words(init, files)).vocabulary
            if words is not None:
                return words
        size = vocabulary_size or _VOCABULARY_SIZE
        return source.count_words(size, max_distinct, counted, progress)

    with SignalGuard() as guard, DirectoryLock(files.path) as lock:
        if strategy.is_chief:
            try:
                with guard.interruptible():
                    prepare_run_directory(
                        files, lock, config, manifest, first_vocabulary, resume, log
                    )
            except Interrupted as interrupted:
                exit_for_signal(
                    interrupted.number, "stopped before the first step", log
                )
            for message in counted.messages():
                log(message)
        strategy.wait()
        vocabulary, batches, held_out = source.open(files)
        keras.utils.set_random_seed(seed)
        with strategy.scope():
            model = build_pretraining_model(
                config,
                len(vocabulary) if vocabulary else manifest["vocabulary_size"],
                num_sampled,
                dtype,
            )
            model.encoder.tokenizer = manifest["tokenizer"]
            model.vocabulary = vocabulary
            if slow := dtype_message(dtype):
                log(slow)
            method = build_optimizer(optimizer, learning_rate)
            log(
                memory_message(
                    model,
                    method.num_slots,
                    getattr(corpus, "batch_tokens", batch_tokens),
                    strategy.num_replicas,
                )
            )
            if origin is not None:
                known = origin.load_into(model)
                log(f"{known:,} words begin with the softmax of {origin.path}")
            model.compile(
                optimizer=method,
                # XLA makes an LSTM on a CPU slower, and cannot compile every op.
                jit_compile=keras.backend.backend() == "jax",
            )
            model.optimizer.build(model.trainable_variables)
        record = RunRecorder(
            model,
            held_out,
            files,
            checkpoints,
            strategy,
            learning_rate,
            tensorboard,
            log,
        )
        run = TrainingLoop(model, batches, record, plan, strategy, log)
        run.train(counted.words or None, progress, guard)
    if isinstance(batches, Corpus):
        _log_text_changes(batches.report, bool(counted.lines), log)
    return model


def _origin_of_lost_words(
    init: str | os.PathLike[str], files: PretrainingDirectory
) -> WarmStart:
    """Returns what a run began from that has lost its words since."""
    try:
        return WarmStart(init)
    except ValueError as error:
        raise ValueError(
            f"{files.vocabulary}: is lost, and `init`, which it came from, cannot be "
            f"read: {error}"
        ) from error


def _log_text_changes(report: CorpusStats, was_counted: bool, log: Any) -> None:
    """Tells what was changed in the text, but for what was told when it was counted."""
    if was_counted:
        report = CorpusStats(
            used_lines=report.used_lines, split_lines=report.split_lines
        )
    for message in report.messages():
        log(message)


def _log(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _keep_quiet(message: str) -> None:
    pass
