"""Steps whose metrics are still on the device."""

from collections import deque
from collections.abc import Mapping
from time import monotonic
from typing import NamedTuple

from keras import ops

from keras_elmo.utils.types import Tensor

# Metrics are fetched after this many steps, or seconds. With fewer, a fast device would
# wait; with more, a signal would, until all steps are over.
_MOST_STEPS = 16
_SECONDS = 0.5


class Step(NamedTuple):
    """A step that was begun.

    Attributes:
        number: counted from 1.
        words: words of its batches.
        predictions: predictions of each direction.
        metrics: means over predictions, on the device or as numbers.
    """

    number: int
    words: int
    predictions: int
    metrics: Mapping[str, Tensor]


class PendingSteps:
    """Steps that were begun, the last of which the device may still compute.

    Reading a metric waits for its step, so metrics are read after the next step has
    begun: the device computes that one, while the host goes on.
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
