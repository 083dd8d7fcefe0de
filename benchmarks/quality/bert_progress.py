"""How far a BERT-style encoder is trained: hours that may be interrupted."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_elmo.utils.files import replacing


class Progress(NamedTuple):
    """What a training has behind it.

    Attributes:
        seconds: of updates, and of reading the text for them.
        step: updates.
        loss: running mean.
    """

    seconds: float = 0.0
    step: int = 0
    loss: float = 0.0


def keep(model: Any, progress: Progress, path: Path) -> None:
    """Writes all variables of a model and its optimizer, and how far it is."""
    arrays = [np.asarray(variable) for variable in _variables(model)]
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, *arrays, progress=np.array(progress))


def go_on(model: Any, path: Path) -> Progress:
    """Reads what `keep` has written, if it is there, into a model."""
    if not path.exists():
        return Progress()
    with np.load(path) as stored:
        for number, variable in enumerate(_variables(model)):
            variable.assign(stored[f"arr_{number}"])
        seconds, step, loss = stored["progress"].tolist()
    return Progress(seconds, int(step), loss)


def _variables(model: Any) -> list[Any]:
    return [*model.variables, *model.optimizer.variables]
