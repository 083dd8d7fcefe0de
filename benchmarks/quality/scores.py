"""How right a head is, and the file in which that stands."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from data_sets import Task

from keras_elmo.utils.files import write_json


def score(task: Task, found: Mapping[int, np.ndarray]) -> float:
    """Returns the F1 of spans where the tags mark such, or the accuracy; in percent."""
    if task.has_spans:
        from nervaluate import Evaluator

        evaluated = Evaluator(
            [_names(task, task.labels[place]) for place in task.dev],
            [_names(task, found[place]) for place in task.dev],
            tags=sorted({name[2:] for name in task.classes if name != "O"}),
            loader="list",
        ).evaluate()
        # Both ends and the type are right.
        return 100 * evaluated["overall"]["strict"].f1
    right = np.concatenate(
        [np.atleast_1d(found[place] == task.labels[place]) for place in task.dev]
    )
    return 100 * float(right.mean())


def _names(task: Task, classes: np.ndarray) -> list[str]:
    return [task.classes[number] for number in classes]


class Scores:
    """What was measured, by what it was measured of; kept in a file at once.

    Hours of measuring go on where they stopped. What was measured under other
    conditions, of other vectors by the same name, say, is measured again.

    Args:
        path: of the JSON; an existing one is gone on with.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scores = self._read()

    def _read(self) -> dict[str, dict[str, Any]]:
        if not self._path.exists():
            return {}
        return json.loads(self._path.read_text(encoding="utf-8"))

    def has(self, key: str, **conditions: Any) -> bool:
        """Whether that was measured, and under these conditions.

        Args:
            key: of what.
            **conditions: as the score keeps them.
        """
        return key in self and conditions.items() <= self[key].items()

    def __contains__(self, key: str) -> bool:
        return key in self._scores

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self._scores[key]

    def __setitem__(self, key: str, value: dict[str, Any]) -> None:
        self.update({key: value})

    def update(self, values: Mapping[str, dict[str, Any]]) -> None:
        """Adds scores, all of them or none."""
        # Of another language, somebody else may measure at the same time.
        self._scores = {**self._read(), **values}
        write_json(self._path, dict(sorted(self._scores.items())))
