import glob

import pytest
import tensorflow as tf
from tensorflow.core.util import event_pb2

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.training.history import read_history, write_curves
from tests.training.test_history import FIRST, SECOND


def scalars(folder):
    """What TensorBoard would show: values by name and step."""
    found = {}
    for path in glob.glob(f"{folder}/events.*"):
        for record in tf.data.TFRecordDataset(path):
            event = event_pb2.Event.FromString(record.numpy())
            for value in event.summary.value:
                assert (value.tag, event.step) not in found
                found[value.tag, event.step] = float(tf.make_ndarray(value.tensor))
    return found


def test_tensorboard_shows_what_the_history_has(tmp_path):
    """Written again after a run went on: no point is there twice."""
    files = PretrainingDirectory(tmp_path)
    write_curves(files, [FIRST], tensorboard=True)
    write_curves(files, [FIRST, SECOND], tensorboard=True)
    assert read_history(files.history) == [FIRST, SECOND]
    found = scalars(files.tensorboard)
    assert found["perplexity_forward", 10] == pytest.approx(400.0)
    assert ("perplexity_forward", 20) not in found
    for row in (FIRST, SECOND):
        for name in ("loss_forward", "loss_backward", "gradient_norm", "learning_rate"):
            assert found[name, row.step] == pytest.approx(getattr(row, name))
        speed = found["words_per_second", row.step]
        assert speed == pytest.approx(row.words_per_second)


def test_without_it_there_is_none(tmp_path):
    files = PretrainingDirectory(tmp_path)
    write_curves(files, [FIRST, SECOND])
    assert read_history(files.history) == [FIRST, SECOND]
    assert not list(tmp_path.glob("tensorboard*"))
