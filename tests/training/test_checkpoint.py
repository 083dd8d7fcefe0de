import numpy as np
import pytest

from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training.checkpoint import restore_checkpoint, save_checkpoint
from keras_elmo.training.optimizer import PublishedAdagrad
from tests.layers.layer_checks import numpy_of
from tests.training.runs import CONFIG

POSITION = {"step": 3, "words": 77, "seconds": 1.5, "epoch": 1, "batch": 2}


def compiled(vocabulary_size=13):
    model = build_pretraining_model(CONFIG, vocabulary_size, num_sampled=4)
    model.compile(optimizer=PublishedAdagrad())
    model.optimizer.build(model.trainable_variables)
    return model


def state(model):
    """Everything that the next step depends on."""
    return [
        *model.variables,
        *model.optimizer.variables,
        *model.metrics_variables,
    ]


def disturb(model):
    """Gives every variable a value of its own."""
    rng = np.random.default_rng(0)
    for variable in state(model):
        value = rng.uniform(1, 9, size=variable.shape)
        variable.assign(value.astype(variable.dtype))


def test_everything_comes_back(tmp_path):
    model, other = compiled(), compiled()
    disturb(model)
    save_checkpoint(tmp_path / "checkpoint.hdf5", model, POSITION)
    assert restore_checkpoint(tmp_path / "checkpoint.hdf5", other) == POSITION
    for found, wanted in zip(state(other), state(model), strict=True):
        np.testing.assert_array_equal(numpy_of(found), numpy_of(wanted))
        assert found.dtype == wanted.dtype
    # Seeds among it: one of the candidates, one of each dropout.
    assert sum("seed" in variable.path for variable in model.variables) >= 3
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.hdf5"]


def test_another_model_is_refused(tmp_path):
    path = tmp_path / "checkpoint.hdf5"
    save_checkpoint(path, compiled(), POSITION)
    with pytest.raises(ValueError, match=r"checkpoint\.hdf5: .*shape \(14, 7\)"):
        restore_checkpoint(path, compiled(14))


@pytest.mark.parametrize("share", [0.0, 0.4, 0.99])
def test_a_truncated_file_is_named(share, tmp_path):
    path = tmp_path / "checkpoint.hdf5"
    model = compiled()
    save_checkpoint(path, model, POSITION)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"checkpoint\.hdf5: not a readable"):
        restore_checkpoint(path, model)
