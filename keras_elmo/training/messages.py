"""Messages of a run: recipe and memory at the beginning, the outcome at the end."""

import math
import shlex
from collections.abc import Iterable

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.lines import are_files
from keras_elmo.training.learning_rates import FallingRate, LearningRate
from keras_elmo.training.recipes import PUBLISHED, Recipe
from keras_elmo.training.recorder import RunState
from keras_elmo.training.training_options import TrainingOptions
from keras_elmo.utils.checks import FLAGS, called, counted

_FLOAT_BYTES = 4
# The process with TensorFlow, its graphs, and the reader of the text.
_PROCESS_BYTES = 1_100_000_000
# Numbers that a backward pass needs of each position, relative to the size of a layer.
# Fitted to the measured memory of the presets `mini` to `original`.
_GATES = 9
_UNIQUE_WORDS = 0.5
_LOGITS = 3
# From fewer words a model learns little about their language.
_LITTLE_TEXT = 30_000


def recipe_message(
    recipe: Recipe,
    options: TrainingOptions,
    learning_rate: LearningRate | None,
    num_words: int,
    num_sampled: int,
    is_resumed: bool,
) -> str:
    """Returns a line on what was chosen, and how to choose otherwise."""
    optimizer = options.optimizer
    name = optimizer if isinstance(optimizer, str) else type(optimizer).__name__
    if isinstance(learning_rate, FallingRate):
        name += f" with a learning rate that falls from {learning_rate.peak:g}"
    elif isinstance(learning_rate, float | int):
        name += f" with a learning rate of {learning_rate:g}"
    elif learning_rate is not None:
        name += " with a learning rate by a schedule"
    softmax = f"{num_sampled:,} candidates"
    if num_sampled >= num_words:
        softmax = "a softmax of all"
    facts = (
        f"{name}, batches of {options.batch_tokens:,} positions, {num_words:,} words "
        f"to predict by {softmax}"
    )
    if is_resumed:
        return f"Recipe of the run: {facts}"
    changes = ("optimizer", "learning_rate", "vocabulary_size", "num_sampled")
    change = f"{', '.join(map(called, changes))} and others change it"
    if recipe is not PUBLISHED:
        published = "--recipe published" if FLAGS.get() else '`recipe="published"`'
        change += f"; {published} is the paper's"
    return f"Recipe for {recipe.name}: {facts}. {change}"


def memory_message(
    model: PretrainingModel, batch_tokens: int, num_replicas: int
) -> str:
    """Returns one line on the memory that training needs."""
    weights = sum(math.prod(weight.shape) for weight in model.trainable_variables)
    kept = sum(math.prod(variable.shape) for variable in model.optimizer.variables)
    num_slots = round(kept / weights)
    parts = estimate_memory(model, num_slots, batch_tokens, num_replicas)
    megabytes = [f"{name} {_megabytes(size)}" for name, size in parts.items()]
    total = _megabytes(sum(parts.values()))
    return f"Memory: about {total} MB ({', '.join(megabytes)})"


def _megabytes(size: float) -> str:
    return "under 1" if 0 < size < 5e5 else f"{size / 1e6:,.0f}"


def estimate_memory(
    model: PretrainingModel, num_slots: int, batch_tokens: int, num_replicas: int
) -> dict[str, float]:
    """Returns the bytes that training on a CPU needs, by purpose."""
    config = model.config
    encoder, softmax = model.encoder.count_params(), model.head.count_params()
    weights = _FLOAT_BYTES * (encoder + softmax) * num_replicas
    filters = sum(count for _, count in config.filters)
    position = (
        2 * config.num_layers * _GATES * config.units
        + _UNIQUE_WORDS * model.config.ids_per_token * filters
        + 2 * _LOGITS * model.head.num_sampled
    )
    return {
        "process": _PROCESS_BYTES,
        "weights": weights,
        "optimizer": num_slots * weights,
        # The softmax has gradients for the rows of a batch's words alone.
        "gradients": _FLOAT_BYTES * encoder * num_replicas,
        "a batch": _FLOAT_BYTES * batch_tokens * position,
    }


def closing_messages(
    options: TrainingOptions,
    state: RunState,
    words_per_epoch: int | None,
    first_step: int = 0,
) -> list[str]:
    """Returns the outcome, a warning if the text is small, and the next commands.

    `first_step` is the step from which this process went on.
    """
    messages = [f"{counted(state.step, 'update')} on {counted(state.words, 'word')}"]
    if math.isfinite(state.best()):
        messages[0] += f"; the lowest validation perplexity is {state.best():,.4g}"
    if state.step == first_step:
        ends = f"{called('steps')}, {called('epochs')} or {called('minutes')}"
        messages.append(f"The run had ended before. To go on, give it more {ends}")
    words = words_per_epoch
    if words is None and state.positions[0][0]:
        words = state.words // state.positions[0][0]
    if words is not None and words < _LITTLE_TEXT and options.init is None:
        messages.append(
            f"Warning: the text has {counted(words, 'word')}, too few to learn a "
            f"language from: about {_LITTLE_TEXT:,} are the least. Its perplexity says "
            "little. More text helps, or --init with a model of the language; see "
            "docs/low_resource.md"
        )
    return [*messages, *_next_commands(options)]


def _next_commands(options: TrainingOptions) -> list[str]:
    run, text, paths = shlex.quote(str(options.directory)), "TEXT", options.validation
    if paths is not None and are_files(paths):
        if not isinstance(paths, Iterable) or isinstance(paths, str):
            paths = [paths]
        # A pattern in quotes is expanded by the command.
        text = " ".join(shlex.quote(str(path)) for path in paths)
    return [
        "Next:",
        f"  keras-elmo evaluate --model {run} --corpus {text}",
        f"  keras-elmo explore --model {run}",
        f"  keras-elmo export --model {run} --out saved_models/my-elmo",
    ]
