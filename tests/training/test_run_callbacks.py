import keras
import numpy as np
import pytest

from tests.helpers.runs import (
    on_batches,
    ready_made,
    state_of,
    timeless,
    validation_is,
)

pytestmark = [pytest.mark.graph, pytest.mark.usefixtures("eagerly")]

LOSSES = {"loss", "forward_loss", "backward_loss"}


class Noted(keras.callbacks.Callback):
    """Notes each call, and may stop the run after some batches."""

    def __init__(self, stop_after=None):
        super().__init__()
        self.calls, self.logs, self._left = [], [], stop_after

    def on_train_begin(self, logs=None):
        self.calls.append("train begins")

    def on_train_end(self, logs=None):
        self.calls.append("train ends")

    def on_epoch_begin(self, epoch, logs=None):
        self.calls.append(f"epoch {epoch} begins")

    def on_epoch_end(self, epoch, logs=None):
        self.calls.append(f"epoch {epoch} ends")
        self.logs.append(logs)

    def on_train_batch_begin(self, batch, logs=None):
        self.calls.append(f"batch {batch} begins")

    def on_train_batch_end(self, batch, logs=None):
        self.calls.append(f"batch {batch} ends")
        assert logs.keys() >= LOSSES and np.isfinite(logs["loss"])
        if self._left is not None:
            self._left -= 1
            self.model.stop_training = self._left == 0

    def on_test_begin(self, logs=None):
        self.calls.append("test begins")

    def on_test_end(self, logs=None):
        self.calls.append(f"test ends {logs['perplexity']:g}")


def test_calls_are_those_of_fit(tmp_path):
    """An epoch is a pass; the measurement at its end is in its logs."""
    noted = Noted()
    with validation_is([90.0, 80.0]):
        model = on_batches(
            ready_made(2), tmp_path / "run", epochs=2, validate_every=2, callbacks=noted
        )
    batches = [f"batch {k} {what}" for k in (0, 1) for what in ("begins", "ends")]
    assert noted.calls == [
        "train begins",
        *["epoch 0 begins", *batches, "test begins", "test ends 90", "epoch 0 ends"],
        *["epoch 1 begins", *batches, "test begins", "test ends 80", "epoch 1 ends"],
        "train ends",
    ]
    assert noted.params["epochs"] == 2
    history = model.history
    assert isinstance(history, keras.callbacks.History) and history.epoch == [0, 1]
    assert history.history["val_perplexity"] == [90.0, 80.0]
    np.testing.assert_allclose(history.history["val_loss"], np.log([90.0, 80.0]))
    assert [logs["loss"] for logs in noted.logs] == history.history["loss"]
    rows = timeless(tmp_path / "run")
    means = [(row.loss_forward + row.loss_backward) / 2 for row in rows]
    np.testing.assert_allclose(history.history["loss"], means, rtol=1e-6)
    assert [row.step for row in history.rows] == [2, 4]


def test_history_without_callbacks(tmp_path):
    """A pass that the end cuts short is an epoch, too."""
    model = on_batches(ready_made(2), tmp_path / "run", steps=3, validation=None)
    assert model.history.epoch == [0, 1]
    assert set(model.history.history) == LOSSES


def test_a_callback_stops_a_run(tmp_path):
    """The run is measured and saved, and may be resumed."""
    noted = Noted(stop_after=3)
    on_batches(ready_made(2), tmp_path / "run", validation=None, callbacks=[noted])
    assert noted.calls[-3:] == ["batch 0 ends", "epoch 1 ends", "train ends"]
    assert state_of(tmp_path / "run")[1]["step"] == 3
    on_batches(ready_made(2), tmp_path / "run", validation=None, resume=True)
    assert state_of(tmp_path / "run")[1]["step"] == 4


def test_not_callbacks(tmp_path):
    with pytest.raises(ValueError, match="`callbacks` must be a list of Keras callb"):
        on_batches(ready_made(2), tmp_path / "run", callbacks=[print])
    assert list(tmp_path.iterdir()) == []
