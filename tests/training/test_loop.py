import pytest

from keras_elmo.training.loop import SmoothedMean


def test_smoothed_mean():
    """Each value weighs 0.98 times the next one; the weights sum to 1."""
    mean, values = SmoothedMean(), [9.0, 7.0, 8.0]
    found = [mean.update(value) for value in values]
    assert found[0] == pytest.approx(9.0)
    weights = [0.98**2, 0.98, 1.0]
    wanted = sum(map(float.__mul__, weights, values)) / sum(weights)
    assert found[2] == pytest.approx(wanted)


def test_smoothed_mean_of_constant():
    mean = SmoothedMean()
    assert [mean.update(5.0) for _ in range(9)] == pytest.approx([5.0] * 9)
