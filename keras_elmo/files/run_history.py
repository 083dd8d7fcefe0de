"""The measurements of a run: history.csv."""

import csv
import dataclasses
import os
from collections.abc import Iterable

from keras_elmo.utils.files import replacing_text
from keras_elmo.utils.types import StrPath


@dataclasses.dataclass(frozen=True)
class HistoryRow:
    """One measurement of a run. Losses are in nats per token.

    `loss_*`, `gradient_norm` and `words_per_second` are means over the steps since the
    row before. The losses are of the sampled softmax, with dropout; the norm is
    measured before clipping, `None` with an optimizer that does not tell it.
    `perplexity_*` are exact, of the validation text.
    """

    step: int
    epoch: int
    words: int
    seconds: float
    words_per_second: float
    learning_rate: float
    gradient_norm: float | None
    loss_forward: float
    loss_backward: float
    perplexity_forward: float | None = None
    perplexity_backward: float | None = None
    perplexity_mean: float | None = None


_INTEGERS = ("step", "epoch", "words")


def write_history(path: StrPath, rows: Iterable[HistoryRow]) -> None:
    """Writes a history.csv with all rows."""
    with replacing_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in dataclasses.fields(HistoryRow))
        writer.writerows(map(dataclasses.astuple, rows))


def read_history(path: StrPath) -> list[HistoryRow]:
    """Returns the rows of a history.csv, if there is one; errors name the line."""
    if not os.path.exists(path):
        return []
    rows = []
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        try:
            for row in reader:
                values: dict[str, float | None] = {
                    name: int(text) if name in _INTEGERS else float(text)
                    for name, text in row.items()
                    # An empty cell is None, the default.
                    if text
                }
                if row.get("gradient_norm") == "":
                    values["gradient_norm"] = None
                # Names that are no column's, and missing ones, are a TypeError.
                rows.append(HistoryRow(**values))  # type: ignore[arg-type]
        except (TypeError, ValueError, csv.Error) as error:
            raise ValueError(
                f"{os.fspath(path)}: line {reader.line_num}: {error}"
            ) from error
    return rows
