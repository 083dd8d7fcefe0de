"""A checkpoint: everything that the next step of a run depends on, in one file."""

import errno
import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
from keras import ops

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.utils.files import parse_json_object, replacing
from keras_elmo.utils.large_variables import block_starts, blocks_of, fill

PROGRESS = "progress.json"


class DamagedCheckpoint(ValueError):
    """A file is not, or no longer, a whole checkpoint."""


def save_checkpoint(
    path: str | os.PathLike[str], model: PretrainingModel, progress: dict[str, Any]
) -> None:
    """Writes the weights, the optimizer's state, the seeds, and how far a run is.

    Keras's own formats lack the seeds, without which dropout and the drawing of
    candidates do not go on as they would have. The file is an .npz, whose every
    member has a checksum; its arrays are those of any number of devices.

    Args:
        path: the file; the one that stands there is replaced at the end.
        model: a compiled model whose optimizer is built.
        progress: how far the run is, as JSON can hold it.

    Raises:
        OSError: the file cannot be written; one that stood there still does.
    """
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        file.writestr(PROGRESS, json.dumps(progress))
        for name, variable in _variables(model):
            with file.open(name, "w", force_zip64=True) as stream:
                _write(stream, variable)


def _write(stream: IO[bytes], variable: Any) -> None:
    """Writes a variable as an .npy, in blocks: a softmax of many rows is large."""
    shape = tuple(variable.shape)
    blocks = blocks_of(variable) if shape else [ops.convert_to_numpy(variable)]
    header = None
    for block in blocks:
        if header is None:
            header = {
                "descr": np.lib.format.dtype_to_descr(block.dtype),
                "fortran_order": False,
                "shape": shape,
            }
            np.lib.format.write_array_header_1_0(stream, header)
        stream.write(np.ascontiguousarray(block).data)


def restore_checkpoint(
    path: str | os.PathLike[str],
    model: PretrainingModel,
    check: Callable[[dict[str, Any]], None] = lambda progress: None,
) -> dict[str, Any]:
    """Assigns what `save_checkpoint` wrote and returns the progress.

    Args:
        path: the file.
        model: a compiled model whose optimizer is built.
        check: called with the progress before anything else is looked at; what it
            raises is passed on.

    Raises:
        DamagedCheckpoint: the file is cut short or damaged.
        ValueError: it is of a model with other shapes.
        OSError: it is not there, or cannot be read: it may be whole.
    """
    path = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as file:
            _check_members(file, path)
            # Read whole before anything is assigned, so that what follows is sound.
            if (damaged := file.testzip()) is not None:
                raise DamagedCheckpoint(f"{path}: {damaged} is damaged")
            progress = _progress(file, path)
            check(progress)
            for name, variable in _variables(model):
                _check(file, name, variable, path)
            for name, variable in _variables(model):
                _restore(file, name, variable)
            return progress
    except OSError as error:
        # A place in the file that is none: so says a damaged list of its members.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise DamagedCheckpoint(f"{path}: not a whole checkpoint: {error}") from error
    except (
        EOFError,
        KeyError,
        # A bit of the compression's number fell over: it is one that zipfile lacks.
        NotImplementedError,
        RuntimeError,
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
    ) as error:
        raise DamagedCheckpoint(f"{path}: not a whole checkpoint: {error}") from error


def _check_members(file: zipfile.ZipFile, path: str) -> None:
    """What is packed might unpack to any size."""
    for member in file.infolist():
        if member.compress_type != zipfile.ZIP_STORED:
            raise DamagedCheckpoint(f"{path}: {member.filename} must not be compressed")


def _progress(file: zipfile.ZipFile, path: str) -> dict[str, Any]:
    try:
        return parse_json_object(file.read(PROGRESS), f"{path}: {PROGRESS}")
    except ValueError as error:
        raise DamagedCheckpoint(str(error)) from error


def _check(file: zipfile.ZipFile, name: str, variable: Any, path: str) -> None:
    """Refuses an array that is not the variable's, by its header alone."""
    wanted = tuple(variable.shape), np.dtype(variable.dtype)
    with file.open(name) as stream:
        try:
            shape, dtype = _header(stream)
        except ValueError as error:
            raise DamagedCheckpoint(f"{path}: {name}: not an array: {error}") from error
        if (shape, dtype) != wanted:
            raise ValueError(
                f"{path}: {variable.path} must have the shape {wanted[0]} and hold "
                f"{wanted[1]}, as the run's files say, not {shape} and {dtype}"
            )
        size = stream.tell() + dtype.itemsize * math.prod(shape)
    if file.getinfo(name).file_size != size:
        raise DamagedCheckpoint(f"{path}: {name}: must have {size:,} bytes")


def _restore(file: zipfile.ZipFile, name: str, variable: Any) -> None:
    with file.open(name) as stream:
        shape, dtype = _header(stream)
        if not shape:
            variable.assign(np.frombuffer(stream.read(), dtype)[0])
        else:
            fill(variable, _blocks(stream, shape, dtype))


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


def _variables(model: PretrainingModel) -> Iterator[tuple[str, Any]]:
    # By place, because the names that Keras makes up depend on what else was built
    # in the process.
    for k, variable in enumerate(model.variables):
        yield f"model/{k:04}.npy", variable
    for k, variable in enumerate(model.optimizer.variables):
        yield f"optimizer/{k:04}.npy", variable


_NAME = re.compile(r"step-(\d+)\.npz")


class Checkpoints:
    """Names, keeps and finds the checkpoints of a run.

    Args:
        folder: where they lie; made when the first is saved.
        keep: how many of the last ones to keep.
    """

    def __init__(self, folder: str, keep: int = 3) -> None:
        self._folder = folder
        self._keep = keep

    def path(self, step: int) -> str:
        return os.path.join(self._folder, f"step-{step:08}.npz")

    def steps(self) -> list[int]:
        """Returns after which steps there is one, the first first."""
        if not os.path.isdir(self._folder):
            return []
        names = map(_NAME.fullmatch, os.listdir(self._folder))
        return sorted(int(name[1]) for name in names if name)

    def save(
        self, step: int, model: PretrainingModel, progress: dict[str, Any]
    ) -> None:
        """Writes one, and only then removes what is not to be kept.

        Of later steps there are some where a run went on from an earlier one: it is
        about to repeat them.

        Raises:
            OSError: it cannot be written; those that stood there still do.
        """
        path = self.path(step)
        try:
            save_checkpoint(path, model, progress)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error
            raise OSError(
                f"{path}: cannot be written: {why}; {self._last_before(step)}"
            ) from error
        earlier = [other for other in self.steps() if other < step]
        stale = earlier[: max(0, len(earlier) - self._keep + 1)]
        for other in self.steps():
            if other in stale or other > step:
                os.remove(self.path(other))

    def _last_before(self, step: int) -> str:
        earlier = [other for other in self.steps() if other < step]
        if not earlier:
            return "there is no earlier one"
        return f"the last one is {self.path(earlier[-1])}"

    def restore(
        self,
        model: PretrainingModel,
        warn: Callable[[str], None],
        check: Callable[[dict[str, Any]], None],
    ) -> dict[str, Any] | None:
        """Assigns the last one that is whole, and returns its progress.

        Args:
            model: compiled, its optimizer built.
            warn: told of each one that had to be skipped.
            check: see `restore_checkpoint`.

        Returns:
            The progress; `None` if there is no checkpoint.

        Raises:
            ValueError: there are some and none is whole, or they are of another model.
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
                "to begin the run anew"
            )
        return None
