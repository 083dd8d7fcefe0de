import dataclasses

import pytest

from keras_elmo.files.run_history import HistoryRow
from keras_elmo.training import run_clock
from keras_elmo.training.recorder import RunState
from keras_elmo.training.run_clock import MILLIONTHS, RunClock
from keras_elmo.training.training_options import TrainingOptions
from tests.helpers.small import CONFIG


class Time:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def time(monkeypatch):
    time = Time()
    monkeypatch.setattr(run_clock, "monotonic", time)
    return time


def clock_of(state, words=None, is_falling=True, began=1000.0, **given):
    options = TrainingOptions(CONFIG, "text.txt", **given)
    return RunClock(options, state, words, began, is_falling)


def new_state(**values):
    return RunState(positions=[(0, 0)], **values)


ROW = HistoryRow(1, 0, 10, 1.0, 1.0, 0.1, 1.0, 5.0, 5.0)


def test_last_measurement_is_inside_of_the_minutes(time):
    """Time is left for a measurement: what the first one took, and a fifth more."""
    state = new_state()
    clock = clock_of(state, minutes=10)
    time.now += 29
    state.step = 1
    assert not clock.measurement_is_due()
    time.now += 2
    assert clock.measurement_is_due()
    state.rows.append(ROW)
    # Not again without a step.
    assert not clock.measurement_is_due()
    time.now += 20
    clock.measured(20.0)
    assert clock.position() == (51.0, 600.0)
    state.step = 2
    time.now = 1000 + 575
    assert clock.progress() == round(MILLIONTHS * 575 / 576)
    assert not clock.is_over()
    time.now += 1
    assert clock.is_over() and clock.progress() == MILLIONTHS


def test_measurements_by_time(time):
    """Measurements come every tenth of the minutes, or after three times as long."""
    state = new_state(step=1, rows=[])
    clock = clock_of(state, minutes=10)
    for took, later in ((1.0, 60), (50.0, 150)):
        clock.measured(took)
        state.step += 1
        time.now += later - 1
        assert not clock.measurement_is_due()
        time.now += 1
        assert clock.measurement_is_due()
    # Not shortly before the last one.
    time.now = 1000 + 545
    assert not clock.measurement_is_due()
    # Given updates are kept.
    clock = clock_of(state, minutes=10, validate_every=7)
    clock.measured(1.0)
    state.step = 13
    time.now += 400
    assert not clock.measurement_is_due()
    state.step = 14
    assert clock.measurement_is_due()


def test_at_least_one_step(time):
    state = new_state()
    clock = clock_of(state, minutes=1)
    time.now += 100
    assert not clock.is_over()
    state.step = 1
    assert clock.is_over()


@pytest.mark.parametrize("is_falling", [True, False])
def test_minutes_of_a_resumed_run(time, is_falling):
    """A rate that falls over the minutes falls over those of the whole run."""
    state = new_state(step=5, seconds=300.0)
    clock = clock_of(state, minutes=10, is_falling=is_falling)
    assert clock.progress() == MILLIONTHS // 2 * is_falling
    time.now += 301
    state.step = 6
    assert clock.is_over() == is_falling
    clock.end()
    assert state.minutes == 10.0 * is_falling
    # It is over at once when it is resumed again, unless it has more minutes.
    time.now, state.seconds = 1000.0, 580.0
    assert clock_of(state, minutes=10, is_falling=is_falling).is_over() == is_falling
    assert not clock_of(state, minutes=20, is_falling=is_falling).is_over()


def test_passes(time):
    """Passes are counted by words, if the text has been counted."""
    state = new_state(words=150)
    assert clock_of(state, words=100, epochs=3).progress() == MILLIONTHS // 2
    assert clock_of(state, words=100, epochs=3).position() == (150, 300)
    state.positions = [(2, 7)]
    assert clock_of(state, epochs=4).progress() == MILLIONTHS // 2
    assert clock_of(state, epochs=4).position() == (150, None)
    # Not by steps, of which there may be more later.
    assert clock_of(dataclasses.replace(state, step=5), steps=10).progress() == 0
    assert clock_of(dataclasses.replace(state, step=5), steps=10).position() == (5, 10)
