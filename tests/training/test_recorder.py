import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from keras_elmo.training.pending_steps import Step
from keras_elmo.training.recorder import Interval, RunRecorder, RunState
from tests.files.test_run_history import FIRST, SECOND

FIGURES = {"forward_loss": 5.1, "backward_loss": 4.7, "gradient_norm": 0.3}


def test_state_json_round_trip():
    """JSON keeps a state to the last bit."""
    state = RunState(step=7, words=99, seconds=0.1 + 0.2, positions=[(1, 2), (0, 9)])
    state.mean_loss = 1 / 3
    state.rows = [FIRST, SECOND]
    state.interval.add(Step(7, 10, 12, FIGURES))
    assert RunState.from_json(json.loads(json.dumps(state.to_json())), "run") == state


@pytest.mark.parametrize(
    ("workers", "positions"), [(1, [(2, 0)]), (2, [(3, 4), (2, 9)]), (3, [(2, 0)] * 3)]
)
def test_other_number_of_workers(workers, positions):
    """Each worker has another shard now, so the earliest epoch begins anew."""
    progress = RunState(step=7, positions=[(3, 4), (2, 9)]).to_json()
    said = []
    recorder = RunRecorder(
        SimpleNamespace(vocabulary=None),
        validation=None,
        files=SimpleNamespace(checkpoints="run"),
        checkpoints=SimpleNamespace(restore=lambda *arguments: progress),
        devices=SimpleNamespace(
            num_workers=workers, is_chief=False, after_restore=lambda model: None
        ),
        tensorboard=False,
        log=said.append,
    )
    assert (recorder.state.step, recorder.state.positions) == (7, positions)
    changed = [f"2 workers became {workers}: epoch 3 begins anew"]
    assert said == changed * (workers != 2)


def test_interval_means():
    """Means are of predictions."""
    interval = Interval(seconds=4.0)
    interval.add(Step(1, 10, 12, FIGURES))
    interval.add(Step(2, 30, 36, {**FIGURES, "forward_loss": 3.0}))
    means = interval.means()
    assert means["loss_forward"] == pytest.approx((12 * 5.1 + 36 * 3.0) / 48)
    assert means["loss_backward"] == pytest.approx(4.7)
    assert means["gradient_norm"] == pytest.approx(0.3)
    assert means["words_per_second"] == 10.0


def test_learning_run():
    """The running mean is a mean first, and then of some 100 steps."""
    state = RunState()
    losses = [10.0, 9.0, 4.0, 39.0, 2.0]
    for number, loss in enumerate(losses, 1):
        assert not state.diverges(number, loss)
        assert state.mean_loss == pytest.approx(np.mean(losses[:number]))
    assert not state.diverges(5000, 112.8)
    assert state.mean_loss == pytest.approx(12.8 + 1.0)


@pytest.mark.parametrize("loss", [math.nan, math.inf, 60.0])
def test_diverged_run(loss):
    state = RunState()
    assert not any(state.diverges(number, 5.0) for number in range(1, 9))
    assert state.diverges(9, loss)
    assert state.mean_loss == 5.0


def test_best_perplexity():
    state = RunState()
    assert state.best() == math.inf and state.measurements_since_best() == 0
    for perplexity, since in ((90.0, 0), (70.0, 0), (80.0, 1), (75.0, 2), (60.0, 0)):
        state.rows.append(dataclasses.replace(FIRST, perplexity_mean=perplexity))
        assert state.measurements_since_best() == since
    assert state.best() == 60.0
