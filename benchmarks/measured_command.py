"""Runs a `keras-elmo` command; prints its moments and its peak memory as JSON.

python benchmarks/measured_command.py pretrain --corpus GLOB --out DIR ...
"""

import json
import sys
import time
from typing import Any

import common

from keras_elmo.cli import main
from keras_elmo.models.pretraining import PretrainingModel


def note_first_update(moments: dict[str, float]) -> None:
    """Has the end of the first update written into `moments`."""
    train_on_batch = PretrainingModel.train_on_batch

    def noting(self: PretrainingModel, *arguments: Any, **options: Any) -> Any:
        logs = train_on_batch(self, *arguments, **options)
        moments.setdefault("first_update", time.time())
        return logs

    PretrainingModel.train_on_batch = noting


if __name__ == "__main__":
    moments = {"imported": time.time()}
    note_first_update(moments)
    status = main(sys.argv[1:])
    moments["ended"] = time.time()
    print(json.dumps({**moments, "peak_bytes": common.peak_bytes()}))
    sys.exit(status)
