"""When a run ends, and what it does on the way."""

import dataclasses

from keras_elmo.checks import check_positive


@dataclasses.dataclass(frozen=True)
class Plan:
    """When a run ends, whichever comes first, and how often it is measured and kept.

    Attributes:
        steps: updates to stop after.
        epochs: passes over the text to stop after.
        minutes: time to stop after, in this process.
        patience: measurements without a lower perplexity to stop after.
        validate_every: steps between two measurements.
        checkpoint_every: steps between two checkpoints, beside those of measurements.
        checkpoint_minutes: time between two checkpoints at most.

    Raises:
        ValueError: a number is not positive.
    """

    steps: int | None
    epochs: int | None
    minutes: float | None
    patience: int | None
    validate_every: int
    checkpoint_every: int | None
    checkpoint_minutes: float

    def __post_init__(self) -> None:
        check_positive(**dataclasses.asdict(self))
