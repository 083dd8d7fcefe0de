"""The state of a run: everything that the next step depends on."""

import json
import os
from typing import Any

import h5py
from keras import ops

from keras_elmo.atomic import replacing
from keras_elmo.models.pretraining import PretrainingModel


def save_checkpoint(
    path: str | os.PathLike[str], model: PretrainingModel, position: dict[str, Any]
) -> None:
    """Writes the weights, the optimizer's state, the seeds, the means, a position.

    Keras's own formats lack the seeds, without which dropout and the drawing of
    candidates do not go on as they would have.

    Args:
        path: the file; the one that stands there is replaced at the end.
        model: a compiled model whose optimizer is built.
        position: where the run is, as JSON can hold it.
    """
    with replacing(path) as temporary, h5py.File(temporary, "w") as file:
        file.attrs["position"] = json.dumps(position)
        for name, variable in _variables(model):
            dataset = file.create_dataset(name, data=ops.convert_to_numpy(variable))
            dataset.attrs["path"] = variable.path


def restore_checkpoint(
    path: str | os.PathLike[str], model: PretrainingModel
) -> dict[str, Any]:
    """Assigns what `save_checkpoint` wrote and returns the position.

    Raises:
        ValueError: the file is damaged or of a model with other shapes.
    """
    path = os.fspath(path)
    try:
        with h5py.File(path, "r") as file:
            for name, variable in _variables(model):
                shape = tuple(variable.shape)
                if name not in file or file[name].shape != shape:
                    raise ValueError(
                        f"{path}: {name} must be {variable.path} of shape {shape}"
                    )
                variable.assign(file[name][...])
            return json.loads(file.attrs["position"])
    except OSError as error:
        raise ValueError(f"{path}: not a readable checkpoint: {error}") from error


def _variables(model: PretrainingModel) -> list[tuple[str, Any]]:
    # By place, because the names that Keras makes up depend on what else was built
    # in the process.
    return [
        (f"{group}/{k:04}", variable)
        for group, variables in (
            ("model", model.variables),
            ("optimizer", model.optimizer.variables),
            # The means over the steps since the last row of the history.
            ("metrics", model.metrics_variables),
        )
        for k, variable in enumerate(variables)
    ]
