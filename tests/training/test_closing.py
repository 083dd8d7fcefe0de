from keras_elmo.files.run_history import HistoryRow
from keras_elmo.training.closing import closing_messages
from keras_elmo.training.recorder import RunState
from keras_elmo.training.training_options import TrainingOptions
from tests.helpers.small import CONFIG

ROWS = [
    HistoryRow(step, 0, 10, 1.0, 1.0, 0.1, 1.0, 5.0, 5.0, 9.0, 9.0, perplexity)
    for step, perplexity in ((1, 9.0), (2, 6.75), (3, 7.0))
]


def messages(words, first_step=0, **given):
    options = TrainingOptions(CONFIG, "text.txt", directory="runs/my elmo", **given)
    state = RunState(step=3, words=33, positions=[(3, 0)], rows=ROWS)
    return closing_messages(options, state, words, first_step)


def test_little_text():
    """A model of eleven words is none, whatever its perplexity."""
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
