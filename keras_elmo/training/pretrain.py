"""Pretrains a biLM on text."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic

import keras

from keras_elmo.files.checkpoint import Checkpoints
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.models.pretraining import PretrainingModel, build_pretraining_model
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.devices import choose_devices
from keras_elmo.training.learning_rates import (
    FallingRate,
    build_learning_rate,
    learning_rate_config,
)
from keras_elmo.training.loop import TrainingLoop
from keras_elmo.training.manifest import fixed_options, prepare_run_directory
from keras_elmo.training.messages import (
    closing_messages,
    memory_message,
    recipe_message,
)
from keras_elmo.training.optimizers import build_optimizer
from keras_elmo.training.recipes import (
    choose_recipe,
    complete_options,
    words_to_predict,
)
from keras_elmo.training.recorder import RunRecorder
from keras_elmo.training.run_callbacks import RunCallbacks, check_callbacks
from keras_elmo.training.run_clock import RunClock
from keras_elmo.training.seeding import seeded
from keras_elmo.training.signals import Interrupted, SignalGuard, exit_for_signal
from keras_elmo.training.training_data import (
    NUM_SAMPLED,
    NUM_WORDS,
    SHAPES,
    Manifest,
    TrainingData,
    with_prepared_text,
)
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.training.warm_start import starting_point
from keras_elmo.utils.memory import keep_freed_memory
from keras_elmo.utils.options import takes_options
from keras_elmo.utils.progress import BEGAN


@takes_options(TrainingOptions)
def pretrain(options: TrainingOptions) -> PretrainingModel:
    """Pretrains a biLM and keeps it in a directory.

    Options that are left out are chosen for the device and the text, and a line names
    them. On a processor: Adam, with gradients clipped to a global norm of 1 and a
    learning rate that falls to 0 over the minutes or epochs; a vocabulary of the words
    that occur often enough; a sampled softmax of a tenth of them. On a GPU: larger
    batches, Muon, and a softmax of all words. `recipe="published"` trains as the
    published models were trained: Adagrad with a learning rate of 0.2 and accumulators
    of 1.0, gradients of 20 times the loss clipped to a global norm of 10, 8,192
    candidates. A resumed run keeps what it began with.

    The directory holds the best weights by validation perplexity (the last ones
    without a validation text) in the published format, the last checkpoints, the
    vocabulary and the learning curves; see `PretrainingDirectory`.

    A run that was killed at any moment goes on with `resume` and the same arguments,
    and ends with the same bits as a run that nothing stopped. SIGINT and SIGTERM finish
    the step, write a checkpoint and end the process.

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
        Diverged: a loss is not a number, or ten times its running mean; earlier
            checkpoints stay.
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
    recipe = choose_recipe(options, devices.on_gpu)
    options = complete_options(options, recipe, recorded, files.training)
    start, config, tokenizer = starting_point(options, files, checkpoints)
    learning_rate = rate_config = None
    if isinstance(options.optimizer, str):
        learning_rate = build_learning_rate(
            options, config.units, recorded.get("learning_rate"), files.training
        )
        rate_config = learning_rate_config(learning_rate)
    options, tokenizer = with_prepared_text(options, tokenizer, devices.num_workers)
    data = TrainingData(
        options,
        tokenizer,
        config.token_vocabulary,
        shard=(devices.worker, devices.num_workers),
        compiles=devices.compiles,
    )
    manifest: Manifest = {
        # Before all else that depends on them.
        "kind_of_corpus": None,
        "corpus": None,
        **fixed_options(options),
        "learning_rate": rate_config,
        **data.manifest,
    }
    keep_freed_memory()
    counted = CorpusStats()

    def count_words() -> tuple[Vocabulary | None, Manifest]:
        words = data.vocabulary
        if data.is_text:
            words = words_to_predict(
                options, recipe, str(data.tokenizer), start, counted
            )
        num_words = options.vocabulary_size if words is None else len(words)
        shapes = data.choose_shapes()
        return words, {
            SHAPES: shapes._asdict() if shapes and shapes.lengths else None,
            NUM_SAMPLED: options.num_sampled or recipe.num_sampled(num_words or 1),
            NUM_WORDS: counted.words or None,
        }

    def log_lines(report: CorpusStats) -> None:
        for message in report.messages(config):
            log(message)

    with SignalGuard() as guard, ExitStack() as until_end:
        if devices.is_chief:
            try:
                with guard.interruptible():
                    prepare_run_directory(
                        files, until_end, config, manifest, options, count_words, log
                    )
            except Interrupted as interrupted:
                exit_for_signal(
                    interrupted.number, "stopped before the first step", log
                )
            log_lines(counted)
        devices.wait()
        data.open(files)
        recorded = files.read_manifest()
        num_sampled, words_per_epoch = recorded[NUM_SAMPLED], recorded.get(NUM_WORDS)
        num_words = recorded["vocabulary_size"]
        if data.vocabulary is not None:
            num_words = len(data.vocabulary)
        log(
            recipe_message(
                recipe, options, learning_rate, num_words, num_sampled, is_resumed
            )
        )
        until_end.enter_context(seeded(options.seed))
        with devices.scope():
            model = build_pretraining_model(
                config, num_words, num_sampled, options.dtype
            )
            model.encoder.tokenizer = data.tokenizer
            model.vocabulary = data.vocabulary
            optimizer = build_optimizer(options.optimizer, learning_rate)
            if start is not None and (known := start.load_into(model)):
                log(f"{known:,} words start with the softmax of {start.name}")
            # XLA makes an LSTM on a CPU slower, and cannot compile every op.
            model.compile(optimizer, jit_compile=keras.backend.backend() == "jax")
            optimizer.build(model.trainable_variables)
        positions = getattr(data.corpus, "batch_tokens", recipe.batch_tokens)
        log(memory_message(model, positions, devices.num_replicas))
        recorder = RunRecorder(
            model,
            data.validation,
            files,
            checkpoints,
            devices,
            options.tensorboard,
            log,
        )
        state = recorder.state
        first_step, is_falling = state.step, isinstance(learning_rate, FallingRate)
        TrainingLoop(
            data,
            recorder,
            options,
            devices,
            learning_rate,
            RunClock(options, state, words_per_epoch, began, is_falling),
            RunCallbacks(callbacks, model, options.epochs, options.steps),
            log,
        ).train(guard)
    model.history.rows = state.rows
    if isinstance(data.corpus, Corpus):
        report = data.corpus.report
        if counted.lines:
            # The rest was logged when the words were counted.
            report = replace(
                report, invalid_lines=0, lines_with_nul=0, truncated_words=0
            )
        log_lines(report)
    if devices.is_chief:
        for message in closing_messages(options, state, words_per_epoch, first_step):
            log(message)
    return model


def _print(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
