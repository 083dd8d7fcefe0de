"""`keras-elmo pretrain`, telling what it is about to do: a child of `kill.py`.

Takes the command's arguments. Prints "begin X" and "end X" on standard output, where X
is a phase that `kill.py` knows; nothing else of the command is changed.
"""

import sys

from killing import telling

from keras_elmo.cli import main
from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training import checkpoint as checkpoints
from keras_elmo.training import recorder as record
from keras_elmo.training.devices.base import Devices


def tell_phases() -> None:
    """Makes the steps of a run tell of themselves."""
    count = Vocabulary.count.__func__
    Vocabulary.count = classmethod(telling(count, "count"))
    kinds = [Devices]
    try:
        from keras_elmo.training.devices.tensorflow import TensorFlowDevices
    except ImportError:
        pass
    else:
        kinds.append(TensorFlowDevices)
    for kind in kinds:
        kind.update = telling(kind.update, "step")
    record.perplexity = telling(record.perplexity, "validation")
    checkpoints.save_checkpoint = telling(checkpoints.save_checkpoint, "checkpoint")
    PretrainingDirectory.write_weights = telling(
        PretrainingDirectory.write_weights, "weights"
    )


if __name__ == "__main__":
    tell_phases()
    sys.exit(main(sys.argv[1:]))
