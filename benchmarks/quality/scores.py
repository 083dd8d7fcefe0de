"""How right a head is, and the file that keeps it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from data_sets import Task

from keras_elmo.utils.files import write_json


def score(task: Task, found: Mapping[int, np.ndarray]) -> float:
    """Returns the F1 of spans where the tags mark such, or the accuracy; in percent."""
    if not task.has_spans:
        right = [
            np.atleast_1d(found[index] == task.labels[index]) for index in task.dev
        ]
        return 100 * float(np.concatenate(right).mean())
    from nervaluate import Evaluator

    def names(labels: Any) -> list[list[str]]:
        return [[task.classes[k] for k in labels[index]] for index in task.dev]

    kinds = sorted({name[2:] for name in task.classes if name != "O"})
    evaluator = Evaluator(names(task.labels), names(found), tags=kinds, loader="list")
    # Both ends and the type are right.
    return 100 * evaluator.evaluate()["overall"]["strict"].f1


class Scores(dict[str, dict[str, Any]]):
    """What was measured; each score is written to a JSON file at once.

    Hours of measuring resume where they stopped, and two processes may measure at the
    same time. What was measured under other conditions is measured again.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._read()

    def _read(self) -> None:
        if self._path.exists():
            self.update(json.loads(self._path.read_text(encoding="utf-8")))

    def has(self, key: str, **conditions: Any) -> bool:
        """Whether that was measured under these conditions, as the score keeps them."""
        # Perhaps by another process.
        self._read()
        return key in self and conditions.items() <= self[key].items()

    def __setitem__(self, key: str, value: dict[str, Any]) -> None:
        self.add({key: value})

    def add(self, scores: Mapping[str, dict[str, Any]]) -> None:
        """Adds scores, all of them or none."""
        self._read()
        self.update(scores)
        write_json(self._path, dict(sorted(self.items())))
