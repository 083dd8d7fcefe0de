"""`keras-elmo embed`, printing its phases: a child of `kill_embed.py`.

Takes the positions of a part, then the command's arguments. Prints "begin X" and "end
X" on standard output, where X is a phase that `kill_embed.py` knows; but for the size
of the parts, nothing of the command is changed.
"""

import sys

from killing import telling

from keras_elmo.cli import main
from keras_elmo.embedding import embedder
from keras_elmo.embedding.embedder import Embedder
from keras_elmo.embedding.parts import PartFolder
from keras_elmo.embedding.writers import Hdf5Writer, ParquetWriter


def tell_phases() -> None:
    """Makes those who write tell of themselves."""
    functions = {
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
    for (owner, name), phase in functions.items():
        setattr(owner, name, telling(getattr(owner, name), phase))


if __name__ == "__main__":
    embedder._MAX_POSITIONS = int(sys.argv[1])
    tell_phases()
    sys.exit(main(sys.argv[2:]))
