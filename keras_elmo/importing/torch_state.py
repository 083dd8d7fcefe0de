"""Reads tensors from files of PyTorch, which anybody may have made."""

import os
import reprlib
import warnings
import zipfile
from collections.abc import Mapping

import numpy as np

from keras_elmo.files.validation import check_size
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.reading import reading


class TorchState:
    """The tensors of a PyTorch file, by name, whose shapes another file describes."""

    def __init__(self, path: str, described_by: str) -> None:
        self.path = path
        self._described_by = described_by
        torch = import_extra("torch", "Reading a model of ELMoForManyLangs", "torch")
        if not os.path.isfile(path):
            raise ValueError(f"{path}: no such file")
        with (
            reading(path, "holds no tensors of PyTorch, or other things beside them"),
            warnings.catch_warnings(),
        ):
            self._check_container()
            # Of old containers.
            warnings.simplefilter("ignore")
            # Nothing but numbers: a pickle could run anything.
            state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, Mapping):
            raise ValueError(f"{path}: must hold a dictionary, not {type(state)}")
        for name, value in state.items():
            plain = isinstance(value, torch.Tensor) and value.layout == torch.strided
            if not plain or not value.is_floating_point() or value.device.type != "cpu":
                raise ValueError(
                    f"{path}: {reprlib.repr(name)} must be a tensor of floating-point "
                    f"numbers. Received: {type(value).__name__}"
                )
        self._state = dict(state)
        self._read: set[str] = set()

    def _check_container(self) -> None:
        """Refuses numbers that take less room in the file than in memory."""
        if not zipfile.is_zipfile(self.path):
            return
        with zipfile.ZipFile(self.path) as container:
            size = sum(part.file_size for part in container.infolist())
        if size > os.path.getsize(self.path):
            raise ValueError(
                f"{self.path}: its parts must be stored as they are, not compressed"
            )

    def __contains__(self, name: str) -> bool:
        return name in self._state

    def num_rows(self, name: str, units: int) -> int:
        """Returns the number of rows of an embedding of a known size."""
        shape = tuple(getattr(self._state.get(name), "shape", (0,)))
        self._check_shape(name, (shape[0] if shape else 0, units))
        check_size(shape[0] * units, [self.path], f"the shape of {name}")
        return shape[0]

    def _check_shape(self, name: str, shape: tuple[int, ...]) -> None:
        if name not in self._state:
            raise ValueError(
                f"{self.path}: lacks {name}, for which {self._described_by} asks"
            )
        stored = tuple(self._state[name].shape)
        if stored != shape:
            raise ValueError(
                f"{self.path}: {name} has the shape {stored}, but {self._described_by} "
                f"asks for {shape}"
            )

    def read(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Returns the numbers of a tensor."""
        self._check_shape(name, shape)
        self._read.add(name)
        return self._state[name].detach().float().numpy()

    def check_all_read(self) -> None:
        for name, value in self._state.items():
            if name not in self._read:
                raise ValueError(
                    f"{self.path}: holds {name}, {tuple(value.shape)}, but "
                    f"{self._described_by} describes a model without it"
                )
