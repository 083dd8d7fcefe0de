"""The learning curves of a run, as CSV."""

import csv
import dataclasses
import os
from typing import Any

from keras_elmo.atomic import replacing


@dataclasses.dataclass(frozen=True)
class Row:
    """What is known at a measurement. Losses are nats a token.

    `loss_*` are means over the steps since the row before, from the sampled softmax
    and with dropout; `perplexity_*` are of the validation text, exact.
    """

    step: int
    epoch: int
    words: int
    seconds: float
    loss_forward: float
    loss_backward: float
    perplexity_forward: float | None = None
    perplexity_backward: float | None = None
    perplexity_mean: float | None = None


class History:
    """Adds rows to a CSV file, which alone is enough to draw every curve.

    Args:
        path: the file.
        last_step: rows of later steps are dropped: they belong to steps that an
            interrupted run is about to repeat.
    """

    def __init__(self, path: str, last_step: int = 0) -> None:
        self._path = path
        self.rows = [row for row in read_history(path) if row.step <= last_step]
        self._write()

    def append(self, row: Row) -> None:
        self.rows.append(row)
        self._write()

    def _write(self) -> None:
        # All of it each time: a few rows, and never half of one.
        with replacing(self._path) as temporary:
            with open(temporary, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(field.name for field in dataclasses.fields(Row))
                writer.writerows(map(dataclasses.astuple, self.rows))


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
