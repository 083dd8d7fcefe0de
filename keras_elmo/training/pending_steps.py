"""Steps whose metrics are still on the device."""

from collections import deque
from collections.abc import Mapping
from time import monotonic
from typing import NamedTuple

from keras import ops

from keras_elmo.utils.types import Tensor

# Metrics are fetched after this many steps, or seconds. Less would keep a fast device
# waiting, and a signal waits for the steps that have begun.
_MOST_STEPS = 16
_SECONDS = 0.5


class Step(NamedTuple):
    """A step that was begun.

    Attributes:
        number: counted from 1.
        words: of its batches.
        predictions: of each direction.
        metrics: means over these, on the device or as numbers.
    """

    number: int
    words: int
    predictions: int
    metrics: Mapping[str, Tensor]


class PendingSteps:
    """Steps that were begun, the last of which the device may still compute.

    To look at a metric is to wait for its step. So nobody looks before the next step
    has begun: then the device computes this one, while the host goes on.
    """

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._most = 1
        self._since = monotonic()

    def begin(self, step: Step) -> list[Step]:
        """Adds a step; returns the ones before it, if it is time to."""
        self._steps.append(step)
        return self._fetch(leave=1) if len(self._steps) > self._most else []

    def finish(self) -> list[Step]:
        """Waits for all steps and returns them."""
        return self._fetch(leave=0)

    def _fetch(self, leave: int) -> list[Step]:
        fetched = []
        while len(self._steps) > leave:
            step = self._steps.popleft()
            metrics = {
                name: float(ops.convert_to_numpy(value))
                for name, value in step.metrics.items()
            }
            fetched.append(step._replace(metrics=metrics))
        seconds, self._since = monotonic() - self._since, monotonic()
        if fetched:
            at_once = int(_SECONDS * len(fetched) / max(seconds, 1e-9))
            self._most = min(max(1, at_once), _MOST_STEPS)
        return fetched
