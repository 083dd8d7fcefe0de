import keras
import pytest

from keras_elmo.training.keras_configs import from_config, to_config
from tests.helpers.runs import (
    assert_same_state,
    on_batches,
    ready_made,
    state_of,
    timeless,
)

pytestmark = pytest.mark.graph


@keras.saving.register_keras_serializable("test_keras_configs")
class Own(keras.optimizers.SGD):
    """A registered class of another package."""


class Secret(keras.optimizers.SGD):
    """Not registered."""


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
    """An optimizer is recorded, built anew by a resumed run, and goes on bit by bit."""
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
    for other in (type(optimizer)(0.3), "adam"):
        with pytest.raises(ValueError, match=r"`optimizer` must be .*training\.json"):
            on_batches(ready_made(4), tmp_path / "parts", **arguments, optimizer=other)


def test_unregistered_optimizer(tmp_path):
    said = "`optimizer` must be serializable.*Secret.* must be registered"
    with pytest.raises(ValueError, match=said):
        on_batches(ready_made(2), tmp_path / "run", optimizer=Secret(0.1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"module": "os", "class_name": "system"}, "'system' must be registered"),
        ({"registered_name": "x>Y"}, "'Own' must be registered"),
        (
            {"module": "keras.optimizers", "class_name": "Nothing"},
            "no object of Keras",
        ),
    ],
    ids=str,
)
def test_damaged_config(changed, said):
    """Only classes of Keras and registered ones are built."""
    config = to_config(Own())
    assert type(from_config(config, "training.json")) is Own
    with pytest.raises(ValueError, match=rf"^training\.json: .*{said}"):
        from_config({**config, "registered_name": None, **changed}, "training.json")
