"""The checkpoints of a run: the last few of them, in a folder."""

import os
import re
from collections.abc import Callable
from typing import Any

from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.training.checkpoint import (
    DamagedCheckpoint,
    restore_checkpoint,
    save_checkpoint,
)

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
