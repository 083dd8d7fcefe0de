import keras
import pytest

from keras_elmo.training.learning_rates import (
    FallingRate,
    build_learning_rate,
    learning_rate_at,
    learning_rate_config,
)
from keras_elmo.training.training_options import TrainingOptions
from tests.helpers.small import CONFIG


@pytest.mark.parametrize(
    ("warmup", "rates"),
    [(2, {0: 0.0, 1: 0.05, 2: 0.1, 6: 0.05, 10: 0.0}), (0, {0: 0.1, 5: 0.05, 10: 0.0})],
)
def test_cosine_schedule(warmup, rates):
    """The rate rises evenly, then falls to 0 at the last step."""
    options = TrainingOptions(
        CONFIG, [], learning_rate=0.1, schedule="cosine", warmup_steps=warmup, steps=10
    )
    schedule = build_learning_rate(options)
    found = [learning_rate_at(schedule, step) for step in rates]
    assert found == pytest.approx(list(rates.values()), abs=1e-6)


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
@pytest.mark.parametrize(
    ("optimizer", "rate"), [("adagrad", 0.2), ("adam", 0.002), ("muon", 0.002)]
)
def test_default_learning_rate(optimizer, rate, schedule):
    options = TrainingOptions(
        CONFIG, [], optimizer=optimizer, schedule=schedule, steps=10
    )
    assert learning_rate_at(build_learning_rate(options), 0) == pytest.approx(rate)


def test_falling_rate():
    """The rate rises over the first updates, and falls to 0 where the run ends."""
    rate = FallingRate(0.1)
    assert rate.at(0, 0.0) == pytest.approx(0.1 / 50)
    assert rate.at(49, 0.0) == pytest.approx(0.1 / 1.049**0.5)
    assert rate.at(3000, 0.0) == pytest.approx(0.05)
    assert rate.at(3000, 0.75) == pytest.approx(0.0125)
    assert rate.at(1000, 1.0) == 0.0


@pytest.mark.parametrize(
    ("given", "rate"),
    [
        ({"optimizer": "adam"}, FallingRate(0.01)),
        ({"optimizer": "adam", "init": "elmo-en"}, FallingRate(0.001)),
        ({"optimizer": "adam", "schedule": "constant"}, 0.002),
        ({"optimizer": "adagrad"}, 0.2),
        ({"optimizer": "adagrad", "schedule": "falling"}, FallingRate(0.2)),
        # What is given is the rate.
        ({"optimizer": "adam", "learning_rate": 0.01}, 0.01),
        (
            {"optimizer": "adam", "learning_rate": 0.01, "schedule": "falling"},
            FallingRate(0.01),
        ),
    ],
    ids=str,
)
def test_rate_that_is_left_out(given, rate):
    assert build_learning_rate(TrainingOptions(CONFIG, "text.txt", **given)) == rate


def test_recorded_rate():
    """A resumed run keeps its rate, unless the options name another one."""
    options = TrainingOptions(CONFIG, "text.txt", optimizer="adam")
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    for rate in (0.3, FallingRate(0.2), schedule):
        config = learning_rate_config(rate)
        again = build_learning_rate(options, 64, config)
        assert learning_rate_config(again) == config
        assert learning_rate_at(again, 60) == pytest.approx(learning_rate_at(rate, 60))
    options = TrainingOptions(CONFIG, "text.txt", optimizer="adam", learning_rate=0.5)
    assert build_learning_rate(options, 64, {"falls_from": 0.2}) == 0.5


def test_rate_of_larger_models():
    options = TrainingOptions(CONFIG, "text.txt", optimizer="muon")
    for units, rate in ((64, 0.01), (512, 0.005), (4096, 0.0025)):
        assert build_learning_rate(options, units) == FallingRate(rate)
