"""Pretrains a biLM on text."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from time import monotonic

import keras

from keras_elmo.config import ElmoConfig
from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.models.pretraining import PretrainingModel, build_pretraining_model
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.beginning import (
    first_vocabulary,
    fixed_options,
    starting_point,
    with_prepared_text,
)
from keras_elmo.training.devices import choose_devices
from keras_elmo.training.learning_rates import (
    FallingRate,
    build_learning_rate,
    learning_rate_config,
)
from keras_elmo.training.loop import TrainingLoop
from keras_elmo.training.manifest import ENDS, prepare_run_directory
from keras_elmo.training.messages import (
    closing_messages,
    memory_message,
    recipe_message,
)
from keras_elmo.training.optimizers import build_optimizer
from keras_elmo.training.option_checks import check_dtype
from keras_elmo.training.recipes import completed, recipe_of
from keras_elmo.training.recorder import RunRecorder
from keras_elmo.training.run_callbacks import RunCallbacks, check_callbacks
from keras_elmo.training.run_clock import RunClock
from keras_elmo.training.seeding import seeded
from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal
from keras_elmo.training.training_data import (
    NUM_SAMPLED,
    NUM_WORDS,
    SHAPES,
    TrainingData,
)
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.memory import keep_freed_memory
from keras_elmo.utils.options import takes_options
from keras_elmo.utils.progress import BEGAN
from keras_elmo.utils.types import Config


@takes_options(TrainingOptions)
def pretrain(options: TrainingOptions) -> PretrainingModel:
    """Pretrains a biLM and keeps it in a directory.

    What the options do not say is chosen for the device and the text, and a line tells
    it: on a processor Adam, its gradients clipped to a global norm of 1, with a
    learning rate that falls to 0 over the minutes or epochs; a vocabulary of the words
    that occur often enough; a sampled softmax of a tenth of them. On a GPU larger
    batches, Muon, and a softmax of all words. `recipe="published"` is that of the
    published models: Adagrad with a learning rate of 0.2 and accumulators of 1.0,
    gradients of 20 times the loss clipped to a global norm of 10, 8,192 candidates.

    A run that is resumed goes on with what it began with.

    The directory holds the best weights by validation perplexity (the last ones
    without a validation text) in the published format, the last checkpoints, the
    vocabulary and the learning curves; see `PretrainingDirectory`.

    A run that was killed at any moment is resumed by `resume` and the same arguments,
    and ends with the bits it would have ended with. SIGINT and SIGTERM finish the
    step, write a checkpoint and end the process.

    Args:
        {options}

    Returns:
        The model with its last weights. Its `history` is what `fit` returns, a
        `keras.callbacks.History`: `loss` by pass over the text, and `val_loss` and
        `val_perplexity` of passes in which there was a measurement; `history.rows` has
        the rows of history.csv.

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
    began = BEGAN.get() or monotonic()
    log: Callable[[str], None] = _print if options.progress else lambda message: None
    callbacks = check_callbacks(options.callbacks)
    devices = choose_devices(options.devices)
    files = PretrainingDirectory(options.directory)
    checkpoints = Checkpoints(files.checkpoints, options.keep_checkpoints)
    is_resumed = options.resume and files.holds_a_run()
    recorded = files.read_manifest() if is_resumed else {}
    recipe = recipe_of(options, devices.on_gpu)
    options = completed(options, recipe, recorded, files.training)
    dtype = keras.dtype_policies.get(options.dtype).name
    check_dtype(dtype)
    if options.learning_rate is not None:
        learning_rate_config(options.learning_rate)
    start, config, tokenizer = starting_point(options, files, checkpoints)
    options, tokenizer = with_prepared_text(options, tokenizer, devices.num_workers)
    learning_rate = None
    if isinstance(options.optimizer, str):
        learning_rate = build_learning_rate(
            options, config.units, recorded.get("learning_rate"), files.training
        )
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
        **fixed_options(options),
        "learning_rate": learning_rate and learning_rate_config(learning_rate),
        "dtype": dtype,
        **data.manifest,
    }
    keep_freed_memory()
    counted = CorpusStats()
    make_vocabulary = partial(
        first_vocabulary, options, recipe, data, start, files, counted
    )

    def choose(vocabulary: Vocabulary | None) -> Config:
        num_words = options.vocabulary_size if vocabulary is None else len(vocabulary)
        return {
            SHAPES: data.choose_shapes(),
            NUM_SAMPLED: options.num_sampled or recipe.num_sampled(num_words or 1),
            NUM_WORDS: counted.words or None,
        }

    with (
        SignalGuard() as guard,
        ExitStack() as until_end,
        ExitStack() as random_state,
    ):
        if devices.is_chief:
            try:
                with guard.interruptible():
                    prepare_run_directory(
                        files,
                        until_end,
                        config,
                        manifest,
                        {name: getattr(options, name) for name in ENDS},
                        make_vocabulary,
                        choose,
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
        begun = files.read_manifest()
        num_sampled = begun[NUM_SAMPLED]
        num_words = len(vocabulary) if vocabulary else begun["vocabulary_size"]
        log(
            recipe_message(
                recipe, options, learning_rate, num_words, num_sampled, is_resumed
            )
        )
        random_state.enter_context(seeded(options.seed))
        with devices.scope():
            model = build_pretraining_model(config, num_words, num_sampled, dtype)
            model.encoder.tokenizer = data.tokenizer
            model.vocabulary = vocabulary
            optimizer = build_optimizer(options.optimizer, learning_rate)
            positions = getattr(batches, "batch_tokens", recipe.batch_tokens)
            if start is not None:
                known = start.load_into(model)
                if known:
                    log(f"{known:,} words start with the softmax of {start.name}")
            # XLA makes an LSTM on a CPU slower, and cannot compile every op.
            model.compile(optimizer, jit_compile=keras.backend.backend() == "jax")
            optimizer.build(model.trainable_variables)
            log(memory_message(model, positions, devices.num_replicas))
        recorder = RunRecorder(
            model, held_out, files, checkpoints, devices, options.tensorboard, log
        )
        first_step = recorder.state.step
        is_falling = isinstance(learning_rate, FallingRate)
        clock = RunClock(
            options, recorder.state, begun.get(NUM_WORDS), began, is_falling
        )
        TrainingLoop(
            model,
            batches,
            recorder,
            options,
            devices,
            data.shapes,
            learning_rate,
            clock,
            RunCallbacks(callbacks, model, options.epochs, options.steps),
            log,
        ).train(guard)
    model.history.rows = recorder.state.rows
    if isinstance(batches, Corpus):
        report = batches.report
        if counted.lines:
            # The rest was logged when the words were counted.
            report = replace(
                report, invalid_lines=0, lines_with_nul=0, truncated_words=0
            )
        _log_all(report, config, log)
    if devices.is_chief:
        words = begun.get(NUM_WORDS)
        for message in closing_messages(options, recorder.state, words, first_step):
            log(message)
    return model


def _log_all(
    report: CorpusStats, config: ElmoConfig, log: Callable[[str], None]
) -> None:
    for message in report.messages(config):
        log(message)


def _print(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
