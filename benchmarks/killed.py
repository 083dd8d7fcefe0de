"""A `keras-elmo` command that prints its phases, run by `killing.py`.

Takes the positions of a part of embedded text, then the command's arguments. Prints
"begin X" and "end X" on standard output around each phase X; but for the size of the
parts, nothing of the command is changed.
"""

import sys
from collections.abc import Callable
from typing import Any

from keras_elmo.cli import main
from keras_elmo.embedding import embedder
from keras_elmo.embedding.embedder import Embedder
from keras_elmo.embedding.parts import PartFolder
from keras_elmo.embedding.writers import Hdf5Writer, ParquetWriter
from keras_elmo.files import checkpoint
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training import recorder
from keras_elmo.training.devices.base import Devices
from keras_elmo.training.devices.tensorflow import TensorFlowDevices

_PHASES = {
    (Devices, "update"): "step",
    (TensorFlowDevices, "update"): "step",
    (recorder, "perplexity"): "validation",
    (checkpoint, "save_checkpoint"): "checkpoint",
    (PretrainingDirectory, "write_weights"): "weights",
    (Embedder, "cache_words"): "cache",
    (Embedder, "embed_window"): "embed",
    (PartFolder, "write"): "write",
    (PartFolder, "read"): "read",
    (Hdf5Writer, "append"): "join",
    (ParquetWriter, "append"): "join",
    (Hdf5Writer, "finish"): "finish",
    (ParquetWriter, "finish"): "finish",
    (PartFolder, "complete"): "rename",
}


def print_phases() -> None:
    """Makes each function of a phase print it."""
    for (owner, name), phase in _PHASES.items():
        setattr(owner, name, _printing(getattr(owner, name), phase))
    count = Vocabulary.count.__func__
    Vocabulary.count = classmethod(_printing(count, "count"))


def _printing(function: Callable[..., Any], phase: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        print(f"begin {phase}", flush=True)
        result = function(*arguments, **options)
        print(f"end {phase}", flush=True)
        return result

    return call


if __name__ == "__main__":
    embedder._MAX_POSITIONS = int(sys.argv[1])
    print_phases()
    sys.exit(main(sys.argv[2:]))
