"""What is measured, one job after another, and the file that keeps its scores."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_elmo.utils.files import write_json

# A score, and what else was measured.
Result = dict[str, Any]


class Job(NamedTuple):
    """Scores that are measured together.

    Args:
        keys: their names.
        conditions: what they depend on, and are kept with.
        measure: takes a `MeasuredModel` and `arguments`; returns a result for each key.
        arguments: the others of `measure`.
        is_large: whether it takes so much memory that it never runs beside another
            large one.
    """

    keys: tuple[str, ...]
    conditions: Result
    measure: Callable[..., list[Result]]
    arguments: tuple[Any, ...]
    is_large: bool = False


class Scores(dict[str, Result]):
    """What was measured; each job's scores are written to a JSON file at once.

    Hours of measuring go on where they stopped. What was measured under other
    conditions is measured again.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        if path.exists():
            self.update(json.loads(path.read_text(encoding="utf-8")))

    def have(self, job: Job) -> bool:
        """Whether all of it was measured under its conditions."""
        return all(
            key in self and job.conditions.items() <= self[key].items()
            for key in job.keys
        )

    def add(self, job: Job, results: Sequence[Result]) -> None:
        """Adds the scores of a job, all of them or none."""
        measured = zip(job.keys, results, strict=True)
        self.update({key: job.conditions | result for key, result in measured})
        write_json(self._path, dict(sorted(self.items())))
