"""`keras-elmo embed`, telling what it is about to do: a child of `kill_embed.py`.

Takes the positions of a section, then the command's arguments. Prints "begin X" and
"end X" on standard output, where X is a phase that `kill_embed.py` knows; but for the
sections, nothing of the command is changed.
"""

import sys

from killing import telling

from keras_elmo.cli import main
from keras_elmo.embedding import embed_file, hdf5_vectors
from keras_elmo.embedding.hdf5_vectors import Hdf5Vectors
from keras_elmo.embedding.parquet_vectors import ParquetVectors
from keras_elmo.embedding.resumable import UnfinishedFile
from keras_elmo.embedding.sections import SectionWriter


def tell_phases() -> None:
    """Makes those who write tell of themselves."""
    functions = {
        (SectionWriter, "skip_written"): "skip",
        (UnfinishedFile, "checkpoint"): "note",
        (UnfinishedFile, "complete"): "rename",
        **{
            (writer, name): name
            for writer in (Hdf5Vectors, ParquetVectors)
            for name in ("write", "checkpoint")
        },
        (hdf5_vectors, "make_datasets"): "index",
        (ParquetVectors, "finish"): "index",
    }
    for (owner, name), phase in functions.items():
        setattr(owner, name, telling(getattr(owner, name), phase))


if __name__ == "__main__":
    embed_file._SECTION_POSITIONS = int(sys.argv[1])
    tell_phases()
    sys.exit(main(sys.argv[2:]))
