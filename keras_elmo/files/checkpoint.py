"""Checkpoints: all that the next step of a run depends on, in one file."""

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO

import keras
import numpy as np

from keras_elmo.files.finding import checkpoint_steps
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.utils.arrays import write_blocks
from keras_elmo.utils.files import parse_json_object, replacing
from keras_elmo.utils.large_variables import block_starts, blocks_of, fill
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Config, StrPath

PROGRESS = "progress.json"


class DamagedCheckpoint(ValueError):
    """A file is not, or no longer, a whole checkpoint."""


def save_checkpoint(path: StrPath, model: PretrainingModel, progress: Config) -> None:
    """Writes the weights, the optimizer's variables, the seeds and the progress.

    Keras's own formats lack the seeds of dropout and of the sampled softmax. The file
    is an .npz, whose members have checksums; it does not depend on the devices.
    """
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        file.writestr(PROGRESS, json.dumps(progress))
        for name, variable in _variables(model):
            with file.open(name, "w", force_zip64=True) as stream:
                # The softmax of many words is large.
                blocks = blocks_of(variable)
                write_blocks(stream, variable.dtype, variable.shape, blocks)


def restore_checkpoint(
    path: StrPath,
    model: PretrainingModel,
    check: Callable[[Config], None] = lambda progress: None,
) -> Config:
    """Assigns what `save_checkpoint` wrote and returns the progress.

    `check` is called with the progress before the arrays are read, and may raise. A
    file that is cut short raises `DamagedCheckpoint`; one of another model,
    `ValueError`.
    """
    path = os.fspath(path)
    whole = partial(reading, path, "not a whole checkpoint", DamagedCheckpoint)
    with open(path, "rb") as stream:
        with whole():
            file = zipfile.ZipFile(stream)
            progress = _progress(file, path)
        check(progress)
        with whole():
            for name, variable in _variables(model):
                _check(file, name, variable, path)
        for name, variable in _variables(model):
            _restore(file, name, variable)
    return progress


def _progress(file: zipfile.ZipFile, path: str) -> Config:
    """Returns the progress, once all checksums are verified."""
    for member in file.infolist():
        # Compressed members might unpack to any size.
        if member.compress_type != zipfile.ZIP_STORED:
            raise DamagedCheckpoint(f"{path}: {member.filename} must not be compressed")
    if (damaged := file.testzip()) is not None:
        raise DamagedCheckpoint(f"{path}: {damaged} is damaged")
    content = file.read(PROGRESS)
    try:
        return parse_json_object(content, f"{path}: {PROGRESS}")
    except ValueError as error:
        raise DamagedCheckpoint(str(error)) from error


def _check(
    file: zipfile.ZipFile, name: str, variable: keras.Variable, path: str
) -> None:
    """Compares an array's header with the variable."""
    expected = tuple(variable.shape), np.dtype(variable.dtype)
    with file.open(name) as stream:
        try:
            shape, dtype = _header(stream)
        except ValueError as error:
            raise DamagedCheckpoint(f"{path}: {name}: not an array: {error}") from error
        # Each backend has its own integers: of seeds, and of the updates' count.
        integers = {dtype.kind, expected[1].kind} <= {"i", "u"}
        if shape != expected[0] or not (integers or dtype == expected[1]):
            raise ValueError(
                f"{path}: {variable.path} must have the shape {expected[0]} and hold "
                f"{expected[1]}, as the run's files say, not {shape} and {dtype}"
            )
        size = stream.tell() + dtype.itemsize * math.prod(shape)
    if file.getinfo(name).file_size != size:
        raise DamagedCheckpoint(f"{path}: {name}: must have {size:,} bytes")


def _restore(file: zipfile.ZipFile, name: str, variable: keras.Variable) -> None:
    with file.open(name) as stream:
        shape, dtype = _header(stream)
        if shape:
            blocks = _blocks(stream, shape, dtype)
            fill(variable, (block.astype(variable.dtype) for block in blocks))
        else:
            variable.assign(np.frombuffer(stream.read(), dtype)[0])


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    np.lib.format.read_magic(stream)
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    return shape, dtype


def _blocks(
    stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype
) -> Iterator[np.ndarray]:
    starts = block_starts(shape, dtype.itemsize)
    for start in starts:
        rows = (min(starts.step, shape[0] - start), *shape[1:])
        content = stream.read(dtype.itemsize * math.prod(rows))
        yield np.frombuffer(content, dtype).reshape(rows)


def _variables(model: PretrainingModel) -> Iterator[tuple[str, keras.Variable]]:
    # Named by index: Keras's names depend on what else was built in the process.
    for k, variable in enumerate(model.variables):
        yield f"model/{k:04}.npy", variable
    # Absent where the weights alone are read.
    if (optimizer := getattr(model, "optimizer", None)) is not None:
        for k, variable in enumerate(optimizer.variables):
            yield f"optimizer/{k:04}.npy", variable


class Checkpoints:
    """The checkpoints of a run: the last `keep` in a folder."""

    def __init__(self, folder: str, keep: int = 3) -> None:
        self._folder = folder
        self._keep = keep

    def path(self, step: int) -> str:
        return os.path.join(self._folder, f"step-{step:08}.npz")

    def steps(self) -> list[int]:
        """Returns the steps of all checkpoints, in order."""
        return checkpoint_steps(self._folder)

    def save(self, step: int, model: PretrainingModel, progress: Config) -> None:
        """Writes a checkpoint, then removes old ones.

        Later steps exist where the run was resumed from an earlier one; they go, too.
        If the checkpoint cannot be written, all earlier ones remain.
        """
        path = self.path(step)
        earlier = [other for other in self.steps() if other < step]
        try:
            save_checkpoint(path, model, progress)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else error
            last = "there is no earlier one"
            if earlier:
                last = f"the last one is {self.path(earlier[-1])}"
            raise OSError(f"{path}: cannot be written: {reason}; {last}") from error
        stale = earlier[: max(0, len(earlier) - self._keep + 1)]
        for other in self.steps():
            if other in stale or other > step:
                os.remove(self.path(other))

    def restore(
        self,
        model: PretrainingModel,
        warn: Callable[[str], None],
        check: Callable[[Config], None],
    ) -> Config | None:
        """Restores the last checkpoint that is whole; returns its progress, if any.

        `warn` is called with a message for each damaged one; for `check` see
        `restore_checkpoint`.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                return restore_checkpoint(self.path(step), model, check)
            except DamagedCheckpoint as error:
                warn(f"skipped a damaged checkpoint: {error}")
        if steps:
            raise ValueError(
                f"{self._folder}: none of its checkpoints is whole; remove the folder "
                "to start the run again"
            )
        return None
