import json

import keras
import numpy as np
import pytest

from keras_elmo.training.pretrain import pretrain
from tests.helpers.runs import (
    SMALLER,
    assert_same_state,
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


@keras.saving.register_keras_serializable("test_run_callbacks")
class Own(keras.optimizers.SGD):
    """Of somebody else, registered."""


class Secret(keras.optimizers.SGD):
    """Not registered."""


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
    """Which is measured and saved, and may be resumed."""
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


@pytest.mark.parametrize(
    "optimizer",
    [
        keras.optimizers.AdamW(0.01),
        keras.optimizers.Lion(
            keras.optimizers.schedules.ExponentialDecay(0.01, 2, 0.5)
        ),
        Own(0.1, momentum=0.9, nesterov=True, global_clipnorm=1.0),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_optimizer_of_keras(optimizer, tmp_path):
    """It is recorded, rebuilt where it is not given again, and resumes to the bit."""
    arguments = {"validation": None, "optimizer": optimizer}
    whole = on_batches(ready_made(3), tmp_path / "whole", epochs=1, **arguments)
    assert type(whole.optimizer) is type(optimizer) and whole.optimizer is not optimizer
    on_batches(ready_made(3), tmp_path / "parts", steps=1, **arguments)
    arguments = {"validation": None, "resume": True, "epochs": 1}
    on_batches(ready_made(3), tmp_path / "parts", steps=2, **arguments)
    on_batches(
        ready_made(3), tmp_path / "parts", **arguments, optimizer=optimizer, seed=0
    )
    arrays, progress = state_of(tmp_path / "parts")
    wanted, whole_progress = state_of(tmp_path / "whole")
    for name in ("rows", "interval"):
        progress.pop(name), whole_progress.pop(name)
    assert_same_state((arrays, progress), (wanted, whole_progress))
    (row,) = timeless(tmp_path / "whole")
    assert row.gradient_norm is None
    rate = optimizer.learning_rate
    if isinstance(optimizer, keras.optimizers.Lion):
        rate = 0.01 * 0.5**1.5
    assert row.learning_rate == pytest.approx(float(rate))
    other = type(optimizer)(0.3)
    with pytest.raises(ValueError, match=r"`optimizer` must be .*training\.json"):
        on_batches(ready_made(4), tmp_path / "parts", **arguments, optimizer=other)
    with pytest.raises(ValueError, match=r"`optimizer` must be .*training\.json"):
        on_batches(ready_made(4), tmp_path / "parts", **arguments, optimizer="adam")


def test_optimizer_that_is_none(tmp_path):
    for optimizer, said in (
        (Secret(0.1), "`optimizer` must be serializable.*Secret.* must be registered"),
        (5, "`optimizer` must be a name or a Keras optimizer"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            on_batches(ready_made(2), tmp_path / "run", optimizer=optimizer)
    assert list(tmp_path.iterdir()) == []


def test_optimizer_of_a_damaged_run(tmp_path):
    """What training.json names is built if it is of Keras, or registered."""
    arguments = {"directory": tmp_path / "run", "validation": None}
    on_batches(ready_made(2), **arguments, steps=1, optimizer=Own())
    path = tmp_path / "run" / "training.json"
    manifest = json.loads(path.read_text("utf-8"))
    for config, said in (
        (
            {"module": "os", "class_name": "system", "config": {}},
            "'system' must be reg",
        ),
        (
            {**manifest["optimizer"], "registered_name": "x>Y"},
            "'Own' must be registered",
        ),
        ({"class_name": "Nothing", "module": "keras.optimizers"}, "no object of Keras"),
    ):
        path.write_text(json.dumps({**manifest, "optimizer": config}), "utf-8")
        with pytest.raises(ValueError, match=rf"training\.json: .*{said}"):
            on_batches(ready_made(2), **arguments, resume=True)


def test_old_runs_go_on(tmp_path):
    """With the recipe of their time, which was Adagrad where nothing was given."""
    arguments = {"vocabulary_size": 13, "progress": False, "steps": 1}
    arguments["directory"] = tmp_path / "run"
    pretrain(SMALLER, ready_made(2), recipe="published", **arguments)
    path = tmp_path / "run" / "training.json"
    manifest = json.loads(path.read_text("utf-8"))
    assert manifest["num_sampled"] == 8192 and manifest["learning_rate"] == 0.2
    del manifest["words_per_epoch"]
    path.write_text(json.dumps(manifest), "utf-8")
    arguments["steps"] = 2
    model = pretrain(SMALLER, ready_made(2), resume=True, **arguments)
    assert type(model.optimizer).__name__ == "PublishedAdagrad"
    assert model.head.num_sampled == 8192
    assert [row.learning_rate for row in timeless(tmp_path / "run")] == [0.2, 0.2]
