"""Metrics are fetched while the device computes the next step."""

import pytest

from keras_elmo.training import pending_steps
from keras_elmo.training.pending_steps import PendingSteps, Step


class Device:
    """Computes steps of some seconds in turn; reading a metric waits for its step."""

    def __init__(self, seconds):
        self._seconds = seconds
        self.now = self._free_at = 0.0
        self.begun = self.looked_at = 0

    def step(self):
        self.begun += 1
        self._free_at = max(self._free_at, self.now) + self._seconds
        return Step(self.begun, 3, 4, {"loss": Metric(self, self.begun, self._free_at)})


class Metric:
    def __init__(self, device, number, ready_at):
        self._device, self._number, self._ready_at = device, number, ready_at

    def look(self):
        self._device.now = max(self._device.now, self._ready_at)
        self._device.looked_at = self._number
        return float(self._number)


@pytest.fixture
def steps(monkeypatch, request):
    device = Device(request.param)
    monkeypatch.setattr(pending_steps, "monotonic", lambda: device.now)
    monkeypatch.setattr(pending_steps.ops, "convert_to_numpy", Metric.look)
    return device, PendingSteps()


@pytest.mark.parametrize(
    ("steps", "most"), [(10.0, 2), (0.1, 6), (0.0001, 17)], indirect=["steps"]
)
def test_one_step_late(steps, most):
    """Steps are returned once, in order, at most half a second or 16 steps late."""
    device, pending = steps
    fetched = []
    for number in range(1, 101):
        new = pending.begin(device.step())
        if new:
            # The device has a step left to compute.
            assert device.looked_at == number - 1
        fetched += new
        assert number - len(fetched) < most
    assert [step.number for step in fetched] == list(range(1, len(fetched) + 1))
    assert len(fetched) < 100
    fetched += pending.finish()
    assert [step.metrics for step in fetched] == [
        {"loss": float(number)} for number in range(1, 101)
    ]
    assert pending.finish() == []
