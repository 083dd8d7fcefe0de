"""Logistic regression of pooled vectors, chosen by cross-validation."""

import numpy as np
import pytest

from tests.helpers.installed import require_installed

pytestmark = pytest.mark.graph

require_installed("sklearn")


def test_vectors_are_pooled_over_the_tokens(quality):
    layers = np.arange(12.0, dtype="float32").reshape(2, 3, 2)
    found = quality("logistic").pool([layers, layers[:, :0]])
    # The mean and the maximum of two layers.
    assert found[0].tolist() == [[[2, 3], [8, 9]], [[4, 5], [10, 11]]]
    assert not found[1].any() and found.dtype == np.float32


def test_layers_and_encoders_stand_beside_each_other(quality, encoder, data, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("river 1 2\nbank 3 0\n", encoding="utf-8")
    encoders = quality("encoders").Encoders(encoder, path)
    task = quality("data_sets").DATA_SETS["sst2"].read(data, "unicode")
    assert task.sentences[0] == ["bank", "flows", "."]
    static = encoders.pooled("static", task)
    assert static.shape == (49, 2, 2)
    np.testing.assert_allclose(static[0], [[1, 0], [3, 0]])
    elmo = encoders.pooled("elmo", task)
    assert elmo.shape == (49, 2, 3 * 8)
    np.testing.assert_array_equal(encoders.pooled("elmo:1", task), elmo[..., 8:16])
    both = encoders.pooled("static+elmo", task)
    np.testing.assert_array_equal(both, np.concatenate([static, elmo], axis=-1))


@pytest.fixture
def task(quality):
    return quality("data_sets").Task(
        sentences=[["a"]] * 120,
        labels=[np.int32(k % 2) for k in range(120)],
        classes=["bad", "good"],
        num_train=100,
    )


@pytest.mark.parametrize("pooling", ["mean", "mean and maximum"])
def test_what_helps_is_chosen(quality, task, pooling):
    """The maximum is taken where it alone knows the class."""
    vectors = np.random.default_rng(0).normal(size=(120, 2, 4)).astype("float32")
    known = vectors[:, 0 if pooling == "mean" else 1]
    known[:, 0] += 4 * np.array(task.labels)
    predict = quality("logistic").predict
    found, chosen = predict(vectors, task, seed=0)
    assert chosen["pooling"] == pooling
    assert chosen["C"] in quality("logistic").PROTOCOL["C"]
    assert sorted(found) == list(range(100, 120))
    right = [found[place] == task.labels[place] for place in found]
    assert np.mean(right) > 0.8
    again, same = predict(vectors, task, seed=0)
    assert again == found and same == chosen


def test_labels_of_the_development_sentences_play_no_part(quality, task):
    vectors = np.random.default_rng(0).normal(size=(120, 2, 4)).astype("float32")
    found = quality("logistic").predict(vectors, task, seed=1)
    task.labels[100:] = [1 - label for label in task.labels[100:]]
    assert quality("logistic").predict(vectors, task, seed=1) == found
