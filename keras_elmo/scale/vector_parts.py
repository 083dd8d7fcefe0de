"""A folder of Parquet files, one for each chunk of text."""

import os
from urllib.parse import quote

from apache_beam.io.filesystems import FileSystems

from keras_elmo.embedding.parquet_vectors import ParquetVectors
from keras_elmo.scale.saved_model_handler import EmbeddedChunk
from keras_elmo.scale.shared_files import write_whole
from keras_elmo.scale.text_chunks import TextChunk


class VectorParts:
    """Where the vectors of each chunk are written to, and how.

    The name of a part says which lines it holds, `file=NAME/LINE.parquet`, so a chunk
    that is handled twice is written once. Programs that read Parquet take the folder
    for one table, with the column `file` and those of `ParquetVectors`.

    Args:
        out: the folder.
        rows: `"tokens"` or `"sentences"`.
        dtype: `"float32"` or `"float16"`.
    """

    def __init__(self, out: str, rows: str, dtype: str) -> None:
        self._out = out
        self._rows = rows
        self._dtype = dtype

    def _path(self, chunk: TextChunk | EmbeddedChunk) -> str:
        folder = f"file={quote(os.path.basename(chunk.path), safe='')}"
        return f"{self._out}/{folder}/{chunk.first_line:012}.parquet"

    def lacks(self, chunk: TextChunk) -> bool:
        """Whether a chunk's part is not there yet."""
        return not FileSystems.exists(self._path(chunk))

    def write(self, chunk: EmbeddedChunk) -> str:
        """Writes a part, and returns its name."""
        path = self._path(chunk)
        vectors = chunk.lines[0][1]
        shape = (*vectors.shape[:-2], vectors.shape[-1])

        def write(local: str) -> None:
            part = ParquetVectors(
                local, shape, self._dtype, self._rows, chunk.first_line
            )
            part.write(chunk.lines)
            part.finish([part.checkpoint()])

        write_whole(path, write)
        return path
