import csv
import dataclasses
import glob

import pytest
import tensorflow as tf
from tensorflow.core.util import event_pb2

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.run_history import HistoryRow, read_history, write_history
from keras_elmo.training.recorder import write_curves

FIRST = HistoryRow(
    10, 0, 1200, 3.5, 342.9, 0.2, 1.5, 6.123456789, 6.25, 400.0, 410.5, 405.2
)
SECOND = HistoryRow(20, 1, 2400, 7.0, 343.0, 0.1, 1.25, 5.0, 5.5)
DIVERGED = dataclasses.replace(
    FIRST,
    step=30,
    loss_forward=float("inf"),
    loss_backward=1e30,
    perplexity_forward=float("inf"),
)


def test_round_trip(tmp_path):
    path = tmp_path / "history.csv"
    write_history(path, [FIRST, SECOND, DIVERGED])
    assert read_history(path) == [FIRST, SECOND, DIVERGED]
    # And by any other program.
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0][:3] == ["step", "epoch", "words"]
    assert lines[1] == [str(value) for value in vars(FIRST).values()]
    assert lines[2][-3:] == ["", "", ""]


@pytest.mark.parametrize("cell", ["step,colour\n1,red", "step,words\n1,many"])
def test_damaged_file(cell, tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(cell)
    with pytest.raises(ValueError, match=r"history\.csv: line 2: "):
        read_history(path)


def test_missing_file(tmp_path):
    assert read_history(tmp_path / "history.csv") == []


def scalars(folder):
    """What TensorBoard would show: values by name and step."""
    actual = {}
    for path in glob.glob(f"{folder}/events.*"):
        for record in tf.data.TFRecordDataset(path):
            event = event_pb2.Event.FromString(record.numpy())
            for value in event.summary.value:
                assert (value.tag, event.step) not in actual
                actual[value.tag, event.step] = float(tf.make_ndarray(value.tensor))
    return actual


def test_tensorboard(tmp_path):
    """Written again after a run went on: no point is there twice."""
    files = PretrainingDirectory(tmp_path)
    write_curves(files, [FIRST], tensorboard=True)
    write_curves(files, [FIRST, SECOND], tensorboard=True)
    assert read_history(files.history) == [FIRST, SECOND]
    actual = scalars(files.tensorboard)
    assert actual["perplexity_forward", 10] == pytest.approx(400.0)
    assert ("perplexity_forward", 20) not in actual
    for row in (FIRST, SECOND):
        for name in ("loss_forward", "loss_backward", "gradient_norm", "learning_rate"):
            assert actual[name, row.step] == pytest.approx(getattr(row, name))
        speed = actual["words_per_second", row.step]
        assert speed == pytest.approx(row.words_per_second)


def test_no_tensorboard(tmp_path):
    files = PretrainingDirectory(tmp_path)
    write_curves(files, [FIRST, SECOND])
    assert read_history(files.history) == [FIRST, SECOND]
    assert not list(tmp_path.glob("tensorboard*"))
