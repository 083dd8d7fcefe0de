"""The batches of a part that is not complete."""

import contextlib
import os
from collections.abc import Callable, Mapping
from time import monotonic

import numpy as np

from keras_elmo.utils.files import replacing
from keras_elmo.utils.reading import reading

Writing = Callable[[], contextlib.AbstractContextManager[None]]

# Seconds between two files.
_SAVE_EVERY = 10.0


class PartBatches:
    """The batches of a part that takes long, written every ten seconds.

    Args:
        files: paths of those that are written, to which others are added.
        part: path of the part.
        writing: wraps what writes.
    """

    def __init__(self, files: list[str], part: str, writing: Writing) -> None:
        self._files = files
        self._part = part
        self._writing = writing
        self._new: dict[str, np.ndarray] = {}
        self._saved_at = monotonic()

    def read(self) -> dict[int, np.ndarray]:
        """Returns the vectors that are written, by the index of each line."""
        vectors: dict[int, np.ndarray] = {}
        for path in self._files:
            # What is damaged is computed again.
            with (
                contextlib.suppress(ValueError),
                reading(path),
                open(path, "rb") as file,
                np.load(file, allow_pickle=False) as batches,
            ):
                vectors |= {int(name): batches[name] for name in batches}
        return vectors

    def add(self, batch: Mapping[int, np.ndarray]) -> None:
        """Takes the vectors of a batch, by the index of each line."""
        self._new |= {str(index): each for index, each in batch.items()}
        if monotonic() - self._saved_at < _SAVE_EVERY:
            return
        stem, _ = os.path.splitext(self._part)
        path = f"{stem}.{len(self._files)}.npz"
        with self._writing(), replacing(path) as temporary:
            with open(temporary, "wb") as file:
                # Its types take any name for the option `allow_pickle`.
                np.savez(file, **self._new)  # type: ignore[arg-type]
        self._files.append(path)
        self._new, self._saved_at = {}, monotonic()
