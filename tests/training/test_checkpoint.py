import tempfile
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from keras_elmo.models.pretraining import build_pretraining_model
from keras_elmo.training.checkpoint import (
    DamagedCheckpoint,
    restore_checkpoint,
    save_checkpoint,
)
from keras_elmo.training.optimizers import PublishedAdagrad
from tests.full_disk import files_of_at_most
from tests.layers.layer_checks import numpy_of
from tests.training.runs import CONFIG

PROGRESS = {"step": 3, "words": 77, "seconds": 1.5, "places": [[1, 2]]}
BITS = strategies.integers(0, 7)


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
    save_checkpoint(tmp_path / "checkpoint.npz", model, PROGRESS)
    assert restore_checkpoint(tmp_path / "checkpoint.npz", other) == PROGRESS
    for found, wanted in zip(state(other), state(model), strict=True):
        np.testing.assert_array_equal(numpy_of(found), numpy_of(wanted))
        assert found.dtype == wanted.dtype
    # Seeds among it: one of the candidates, one of each dropout.
    assert sum("seed" in variable.path for variable in model.variables) >= 3
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_another_model_is_refused(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, compiled(), PROGRESS)
    with pytest.raises(ValueError, match=r"checkpoint\.npz: .*shape \(14, 7\)"):
        restore_checkpoint(path, compiled(14))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A model, its state, and the bytes of its checkpoint."""
    model = compiled()
    disturb(model)
    path = tmp_path_factory.mktemp("checkpoint") / "checkpoint.npz"
    save_checkpoint(path, model, PROGRESS)
    return model, numpy_of(state(model)), path.read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.4, 0.99])
def test_a_truncated_file_is_named(share, written, tmp_path):
    model, _, content = written
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DamagedCheckpoint, match=r"checkpoint\.npz: not a whole"):
        restore_checkpoint(path, model)


def test_what_cannot_be_read_is_not_damaged(written, tmp_path):
    """It may be whole, and is not to be passed over for an earlier one."""
    model, *_ = written
    path = tmp_path / "checkpoint.npz"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        restore_checkpoint(path, model)


@hypothesis.given(place=strategies.floats(0, 1, exclude_max=True), bit=BITS)
def test_a_bit_that_fell_over_is_noticed_or_means_nothing(place, bit, written):
    model, wanted, content = written
    flipped = bytearray(content)
    flipped[int(place * len(content))] ^= 1 << bit
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint.npz")
        path.write_bytes(flipped)
        try:
            assert restore_checkpoint(path, model) == PROGRESS
        except DamagedCheckpoint:
            return
    for found, array in zip(numpy_of(state(model)), wanted, strict=True):
        np.testing.assert_array_equal(found, array)


def test_what_cannot_be_written_leaves_the_one_before(written, tmp_path):
    """A disk that is full: the file's size is bounded here."""
    model, _, content = written
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(content)
    with files_of_at_most(len(content) // 2), pytest.raises(OSError):
        save_checkpoint(path, model, PROGRESS)
    assert path.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]
