"""Reads the variables of a TensorFlow checkpoint by their names, without its graph."""

import glob
import os

import numpy as np

from keras_elmo.utils.lazy import tf
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath


class TFCheckpoint:
    """The variables of a checkpoint, in the files `PREFIX.index` and `PREFIX.data-*`.

    `shapes` has the shape of each variable by its name without the `suffix`.
    """

    def __init__(self, prefix: StrPath, suffix: str = "") -> None:
        self.prefix = os.fspath(prefix)
        self._suffix = suffix
        # Reading a pipe would block.
        if not self.files() or not os.path.isfile(f"{self.prefix}.index"):
            missing = "index" if self.files() else "data-*"
            raise ValueError(f"{self.prefix}.{missing}: no such file")
        with reading(self.prefix):
            self._checkpoint = tf.train.load_checkpoint(self.prefix)
            shapes = self._checkpoint.get_variable_to_shape_map()
            self._dtypes = self._checkpoint.get_variable_to_dtype_map()
        self.shapes: dict[str, tuple[int, ...]] = {
            name.removesuffix(suffix): tuple(shape)
            for name, shape in shapes.items()
            if name.endswith(suffix)
        }

    def files(self) -> list[str]:
        """Returns the files that hold the numbers."""
        return sorted(glob.glob(f"{glob.escape(self.prefix)}.data-*"))

    def read(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Returns floating-point numbers, or raises `ValueError`."""
        if name not in self.shapes:
            raise ValueError(f"{self.prefix}: lacks the variable {name}, {shape}")
        stored = name + self._suffix
        stored_shape, dtype = self.shapes[name], self._dtypes[stored]
        if stored_shape != shape or not dtype.is_floating:
            raise ValueError(
                f"{self.prefix}: the variable {name} must hold floating-point "
                f"numbers of shape {shape}, not {dtype.name} of {stored_shape}"
            )
        with reading(self.prefix):
            return self._checkpoint.get_tensor(stored)
