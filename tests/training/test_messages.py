import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.files.run_history import HistoryRow
from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training.learning_rates import FallingRate
from keras_elmo.training.messages import (
    closing_messages,
    estimate_memory,
    memory_message,
    recipe_message,
)
from keras_elmo.training.optimizers import PublishedAdagrad
from keras_elmo.training.recipes import choose_recipe, complete_options
from keras_elmo.training.recorder import RunState
from keras_elmo.training.training_options import TrainingOptions
from tests.helpers.small import CONFIG

ROWS = [
    HistoryRow(step, 0, 10, 1.0, 1.0, 0.1, 1.0, 5.0, 5.0, 9.0, 9.0, perplexity)
    for step, perplexity in ((1, 9.0), (2, 6.75), (3, 7.0))
]


def test_line_on_what_was_chosen():
    given = TrainingOptions(CONFIG, "text.txt")
    recipe = choose_recipe(given, on_gpu=False)
    full = complete_options(given, recipe, {}, "")
    line = recipe_message(recipe, full, FallingRate(0.008), 6457, 645, False)
    for said in (
        "a processor: adam with a learning rate that falls from 0.008",
        "batches of 1,280 positions, 6,457 words to predict by 645 candidates",
        '`num_sampled` and others change it; `recipe="published"` is the paper\'s',
    ):
        assert said in line
    line = recipe_message(recipe, full, 0.2, 200, 256, True)
    assert line.startswith("Recipe of the run: adam with a learning rate of 0.2")
    assert line.endswith("200 words to predict by a softmax of all")


def test_estimate_memory():
    """Weights and slots take what they hold; a batch takes its positions."""
    model = build_pretraining_model(ElmoConfig.preset("tiny"), 1000)
    parts = estimate_memory(model, 1, 1280, num_replicas=1)
    assert parts["weights"] == parts["optimizer"] == 4 * model.count_params()
    of_adam = estimate_memory(model, 2, 1280, num_replicas=1)
    assert of_adam["optimizer"] == 2 * of_adam["weights"]
    twice = estimate_memory(model, 1, 1280, num_replicas=2)
    assert twice["weights"] == 2 * parts["weights"]
    assert twice["a batch"] == parts["a batch"]
    assert estimate_memory(model, 1, 2560, 1)["a batch"] == 2 * parts["a batch"]


def test_memory_message():
    """The message names megabytes."""
    model = build_pretraining_model(ElmoConfig.preset("tiny"), 1000)
    model.compile(PublishedAdagrad())
    model.optimizer.build(model.trainable_variables)
    message = memory_message(model, 1280, 1)
    parts = estimate_memory(model, 1, 1280, 1)
    total = sum(parts.values())
    assert 0 < parts["gradients"] < 5e5 and "gradients under 1, " in message
    assert message.startswith(f"Memory: about {total / 1e6:,.0f} MB (process 1,100, ")
    assert total == pytest.approx(1.5e9, rel=0.2)


def messages(words, first_step=0, **given):
    options = TrainingOptions(CONFIG, "text.txt", directory="runs/my elmo", **given)
    state = RunState(step=3, words=33, positions=[(3, 0)], rows=ROWS)
    return closing_messages(options, state, words, first_step)


def test_little_text():
    """Too few words are warned of, whatever the perplexity."""
    first, warning, *_ = messages(11)
    assert first == "3 updates on 33 words; the lowest validation perplexity is 6.75"
    assert warning.startswith("Warning: the text has 11 words, too few")
    # By the passes over it.
    assert messages(None)[1] == warning
    assert messages(40_000)[1] == "Next:"
    # A model that knows the language learns from little.
    assert messages(11, init="elmo-en")[1] == "Next:"


def test_nothing_was_left():
    told = messages(40_000, first_step=3)
    assert told[1].startswith(
        "The run had ended before. To go on, give it more `steps`"
    )
    assert messages(40_000, first_step=2)[1] == "Next:"


def test_next_commands():
    told = messages(40_000, validation=["dev 1.txt", "more/*"])[2:]
    assert told == [
        "  keras-elmo evaluate --model 'runs/my elmo' --corpus 'dev 1.txt' 'more/*'",
        "  keras-elmo explore --model 'runs/my elmo'",
        "  keras-elmo export --model 'runs/my elmo' --out saved_models/my-elmo",
    ]
    assert messages(40_000)[2].endswith("--corpus TEXT")
