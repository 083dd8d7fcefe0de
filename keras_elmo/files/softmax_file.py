"""A softmax in an HDF5 file, and the file of its words."""

import os

import numpy as np

from keras_elmo.files.hdf5 import find_dataset, open_hdf5
from keras_elmo.files.sources import Softmax
from keras_elmo.text.vocabulary import Vocabulary


def open_softmax(words: str, weights: str) -> Softmax | None:
    """Returns the softmax of two files; `None` if there is none.

    Published weights may have a file of words beside them, and no softmax.
    """
    if not os.path.exists(words):
        return None
    with open_hdf5(weights) as file:
        if "softmax" not in file:
            return None
    vocabulary = Vocabulary.load(words)

    def read(name: str, row_shape: tuple[int, ...]) -> np.ndarray:
        shape = (len(vocabulary), *row_shape)
        with open_hdf5(weights) as file:
            return find_dataset(file, f"softmax/{name}", shape, words).read()

    return Softmax(vocabulary, read)
