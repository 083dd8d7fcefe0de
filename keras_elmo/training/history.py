"""The learning curves of a run, as CSV."""

import csv
import dataclasses
import glob
import os
from collections.abc import Iterable, Sequence
from typing import Any

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.plots import plot_history
from keras_elmo.utils.files import replacing
from keras_elmo.utils.lazy import tf


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


_SCALARS = (
    "loss_forward",
    "loss_backward",
    "perplexity_forward",
    "perplexity_backward",
    "perplexity_mean",
    "words_per_second",
    "gradient_norm",
    "learning_rate",
)


def write_curves(
    files: PretrainingDirectory, rows: Sequence[Row], tensorboard: bool = False
) -> None:
    """Writes history.csv, the picture of it, and TensorBoard's scalars.

    All of it each time: so a run that repeats some steps after it was killed leaves
    neither a gap nor a point twice.
    """
    write_history(files.history, rows)
    plot_history(rows, files.curves)
    if tensorboard:
        _write_scalars(files.tensorboard, rows)


def _write_scalars(folder: str, rows: Sequence[Row]) -> None:
    before = glob.glob(os.path.join(glob.escape(folder), "events.*"))
    # What tf.summary.scalar writes, which is not there without TensorBoard.
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "scalars"
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        for row in rows:
            for name in _SCALARS:
                value = getattr(row, name)
                if value is not None:
                    number = tf.constant(value, "float32")
                    tf.summary.write(name, number, step=row.step, metadata=metadata)
    writer.close()
    for path in before:
        os.remove(path)
