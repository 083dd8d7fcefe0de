"""Seeds for the time of a run; `tests/backends` checks it on all backends."""

import random

import keras
import numpy as np
import pytest

from keras_elmo.training.seeding import seeded


def drawn():
    """Numbers of every generator that code outside of this package may draw from."""
    keras_draw = float(keras.ops.convert_to_numpy(keras.random.uniform(())))
    numbers = [random.random(), np.random.random(), keras_draw]
    if keras.backend.backend() == "torch":
        import torch

        numbers.append(float(torch.rand(())))
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        numbers.append(float(tf.random.uniform(())))
    return numbers


def check_seeded():
    keras.utils.set_random_seed(1)
    wanted = drawn()
    keras.utils.set_random_seed(1)
    inside = []
    for _ in range(2):
        with pytest.raises(KeyError), seeded(7):
            inside.append(keras.layers.Dense(2).kernel_initializer((3, 2)))
            raise KeyError
    first, second = map(keras.ops.convert_to_numpy, inside)
    np.testing.assert_array_equal(first, second)
    assert drawn() == wanted


def test_seeded():
    """Numbers repeat inside; generators outside go on as if nothing was seeded."""
    check_seeded()
