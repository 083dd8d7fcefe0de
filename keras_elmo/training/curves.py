"""The learning curves of a run, in every form that they are kept in."""

import glob
import os
from collections.abc import Sequence

from keras_elmo.files.directory import PretrainingDirectory
from keras_elmo.optional import import_tensorflow
from keras_elmo.plots import plot_history
from keras_elmo.training.history import Row, write_history

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
    tf = import_tensorflow("Writing scalars for TensorBoard")
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
