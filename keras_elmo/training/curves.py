"""The learning curves of a run."""

import dataclasses
import glob
import os
from collections.abc import Sequence

from keras_elmo.files.finding import RunFiles
from keras_elmo.files.run_history import HistoryRow, write_history
from keras_elmo.plots import plot_history
from keras_elmo.utils.lazy import tf

_NO_CURVES = ("step", "epoch", "words", "seconds")


def write_curves(
    files: RunFiles, rows: Sequence[HistoryRow], tensorboard: bool = False
) -> None:
    """Writes history.csv, its plot, and TensorBoard's scalars.

    All rows each time: a run that repeats steps after it was killed leaves neither a
    gap nor a point twice.
    """
    write_history(files.history, rows)
    plot_history(rows, files.curves)
    if tensorboard:
        _write_scalars(files.tensorboard, rows)


def _write_scalars(folder: str, rows: Sequence[HistoryRow]) -> None:
    before = glob.glob(os.path.join(glob.escape(folder), "events.*"))
    # tf.summary.scalar does the same, but needs TensorBoard.
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "scalars"
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        for row in rows:
            for name, value in dataclasses.asdict(row).items():
                if value is not None and name not in _NO_CURVES:
                    number = tf.constant(value, "float32")
                    tf.summary.write(name, number, step=row.step, metadata=metadata)
    writer.close()
    for path in before:
        os.remove(path)
