"""The file that keeps what was measured."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_elmo.utils.files import write_json


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
