"""The learning curves of a run, as CSV."""

import csv
import dataclasses
import os
from collections.abc import Iterable
from typing import Any

from keras_elmo.atomic import replacing


@dataclasses.dataclass(frozen=True)
class Row:
    """What is known at a measurement. Losses are nats a token.

    `loss_*`, `gradient_norm` and `words_per_second` are means over the steps since the
    row before, the losses from the sampled softmax and with dropout; the norm is that
    of the loss's gradients before they are clipped. `perplexity_*` are of the
    validation text, exact.
    """

    step: int
    epoch: int
    words: int
    seconds: float
    words_per_second: float
    learning_rate: float
    gradient_norm: float
    loss_forward: float
    loss_backward: float
    perplexity_forward: float | None = None
    perplexity_backward: float | None = None
    perplexity_mean: float | None = None


def write_history(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Writes a history.csv, which alone is enough to draw every curve."""
    # All of it each time: a few rows, and never half of one.
    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(field.name for field in dataclasses.fields(Row))
            writer.writerows(map(dataclasses.astuple, rows))


def read_history(path: str | os.PathLike[str]) -> list[Row]:
    """Returns the rows of a history.csv; none, if there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Row(**{name: _parse(name, text) for name, text in line.items()})
            for line in csv.DictReader(file)
        ]


def _parse(name: str, text: str) -> Any:
    if not text:
        return None
    return int(text) if name in ("step", "epoch", "words") else float(text)
