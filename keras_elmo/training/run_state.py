"""How far a run is: what a checkpoint holds beside the variables of its model."""

import dataclasses
import math
from typing import Any

from keras_elmo.training.history import Row

# A step's weight in the running mean of the loss, which thus is of some 100 steps.
_WEIGHT = 0.01
# A loss that many times the running mean is not one of a run that learns.
_DIVERGED = 10.0


@dataclasses.dataclass
class Interval:
    """Sums over the steps since the last row of the history.

    Python's floats, and JSON's, are of 64 bits: what is restored goes on exactly.
    """

    steps: int = 0
    words: int = 0
    seconds: float = 0.0
    predictions: int = 0
    loss_forward: float = 0.0
    loss_backward: float = 0.0
    gradient_norm: float = 0.0

    def add(self, figures: dict[str, float], words: int, predictions: int) -> None:
        """Adds a step, of which `figures` holds means over its predictions."""
        self.steps += 1
        self.words += words
        self.predictions += predictions
        self.loss_forward += predictions * figures["forward_loss"]
        self.loss_backward += predictions * figures["backward_loss"]
        self.gradient_norm += figures["gradient_norm"]

    def means(self) -> dict[str, float]:
        """Returns the columns of the history that are means."""
        predictions = max(self.predictions, 1)
        return {
            "words_per_second": round(self.words / max(self.seconds, 1e-9), 1),
            "gradient_norm": self.gradient_norm / max(self.steps, 1),
            "loss_forward": self.loss_forward / predictions,
            "loss_backward": self.loss_backward / predictions,
        }


@dataclasses.dataclass
class RunState:
    """What a run knows of itself.

    Attributes:
        step: updates that are made.
        words: that were read in them.
        seconds: that they, measurements and checkpoints took, in all processes.
        places: of each worker, the pass it is in and how many batches of it were read.
        mean_loss: the running mean of the loss, `None` before the first step.
        interval: the steps since the last row of the history.
        rows: the history.
        vocabulary: a digest of the words that are predicted.
    """

    step: int = 0
    words: int = 0
    seconds: float = 0.0
    places: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    mean_loss: float | None = None
    interval: Interval = dataclasses.field(default_factory=Interval)
    rows: list[Row] = dataclasses.field(default_factory=list)
    vocabulary: str | None = None

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "RunState":
        """Returns the state that `to_json` gave.

        Raises:
            ValueError: it is none.
        """
        try:
            return cls(
                **{
                    **value,
                    "places": [(epoch, batch) for epoch, batch in value["places"]],
                    "interval": Interval(**value["interval"]),
                    "rows": [Row(**row) for row in value["rows"]],
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the state of a run: {error!r}") from error

    def diverges(self, loss: float) -> bool:
        """Whether a step's loss says that the run learns no more; else counts it in."""
        mean = loss if self.mean_loss is None else self.mean_loss
        if not math.isfinite(loss) or loss > _DIVERGED * mean:
            return True
        self.mean_loss = mean + _WEIGHT * (loss - mean)
        return False

    def best(self) -> float:
        """Returns the lowest perplexity of the validation text; infinite without."""
        measured = (row.perplexity_mean for row in self.rows)
        return min((p for p in measured if p is not None), default=math.inf)

    def measurements_since_best(self) -> int:
        """How often the perplexity was measured since it was lowest."""
        measured = [row.perplexity_mean for row in self.rows]
        known = [p for p in measured if p is not None]
        return len(known) - 1 - known.index(min(known)) if known else 0
