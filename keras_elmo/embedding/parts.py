"""The parts of a file that is being made, and what they are made from."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from rich.filesize import decimal

from keras_elmo.embedding.embedder import BATCH_SIZE, Embedder
from keras_elmo.files.onnx_session import OnnxEncoder
from keras_elmo.files.sources import AnyEncoder
from keras_elmo.text.batching import Tokens
from keras_elmo.utils.arrays import write_blocks
from keras_elmo.utils.checks import called
from keras_elmo.utils.files import file_hash, read_json_object, replacing, write_json
from keras_elmo.utils.locks import held
from keras_elmo.utils.reading import reading

# The words of the text's first positions are cached; each part computes its others
# anew. So a part depends on nothing but these words and itself.
_CACHED_POSITIONS = 524_288

# The bytes of the text before a line, and its tokens.
Line: TypeAlias = tuple[int, Tokens]
# What an output is made from: options and content hashes, by the arguments' names.
Manifest: TypeAlias = Mapping[str, object]
# The arguments that a manifest has a hash of.
_HASHED = ("input", "model", "files")
# The number of a part's first line, and a checksum of its tokens.
_PARTS = "[0-9]" * 12 + "-" + "[0-9a-f]" * 8 + ".npy"


def encoder_hash(encoder: AnyEncoder, arrays: Iterable[np.ndarray] = ()) -> str:
    """Returns the SHA-256 of what an encoder's vectors depend on, and of arrays."""
    if isinstance(encoder, OnnxEncoder):
        kind = file_hash(encoder.path)
    else:
        from keras import ops

        dtype = encoder.get_config()["dtype"]
        about = [encoder.config.to_options(), encoder.tokenizer, dtype]
        kind = json.dumps(about, sort_keys=True)
        arrays = chain(map(ops.convert_to_numpy, encoder.weights), arrays)
    digest = hashlib.sha256(kind.encode())
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()


def check_manifest(begun: Manifest, expected: Manifest, where: str) -> None:
    """Raises a `ValueError` unless an output was begun with the same."""
    for name, value in expected.items():
        if begun.get(name) != value:
            rule = f"`{name}` must be what it was when {where} was begun"
            if name in _HASHED:
                raise ValueError(f"{rule}; its content is another")
            raise ValueError(f"{rule}, {begun.get(name)!r}. Received: {name}={value!r}")


class PartFolder:
    """`OUT.parts`: the parts of a file that is not complete, and their manifest.

    `joined` is the path of the file in the folder that is to become `out`. Unless an
    interrupted run is resumed, neither `out` nor its parts may exist.
    """

    def __init__(self, out: str, resume: bool) -> None:
        self.out = out
        self._resume = resume
        self._path = Path(f"{out}.parts")
        self._manifest = self._path / "manifest.json"
        self.joined = os.fspath(self._path / f"joined{Path(out).suffix}")
        if not resume:
            self._check()

    def check_out(self) -> None:
        """Raises a `ValueError` if the file exists."""
        if os.path.exists(self.out):
            raise ValueError(
                f"{self.out} exists already; name another file, or remove it"
            )

    def _check(self) -> None:
        self.check_out()
        if not self._resume and self._num_parts():
            raise ValueError(
                f"{self._path} exists from an interrupted run; pass "
                f"{called('resume')} to go on with it, or remove it"
            )

    def check_room(self, size: int, progress: bool) -> None:
        """Says how much room the file takes; `OSError` if the disk has less."""
        room = f"takes about {decimal(size)}, twice as much while it is written"
        free = shutil.disk_usage(self._path).free
        if 2 * size - sum(file.stat().st_size for file in self._path.iterdir()) > free:
            why = f"{room}, and {decimal(free)} are free on the disk"
            raise OSError(errno.ENOSPC, why, self.out)
        if progress:
            print(f"{self.out} {room}", file=sys.stderr)

    @contextlib.contextmanager
    def opened(self, manifest: Manifest) -> Iterator[None]:
        """Locks the folder for this process, and removes it if it gets no part."""
        with self.writing():
            self._path.mkdir(parents=True, exist_ok=True)
        used = f"{self._path} must not be in use: another process writes it"
        with held(self._path, used):
            # Another process may have begun or completed it meanwhile.
            self._check()
            if self._num_parts():
                check_manifest(self._read_manifest(), manifest, str(self._path))
            try:
                with self.writing():
                    write_json(self._manifest, manifest)
                yield
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"stopped; {self._kept()}") from None
            finally:
                if not self._num_parts():
                    self.remove()

    def _num_parts(self) -> int:
        return sum(1 for _ in self._path.glob(_PARTS))

    def _read_manifest(self) -> Manifest:
        try:
            return read_json_object(self._manifest)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{self._manifest}: cannot be read ({error}); remove {self._path} to "
                "begin again"
            ) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Makes an `OSError` within say which parts are kept."""
        try:
            yield
        except OSError as error:
            # A library's own message may be long.
            why = os.strerror(error.errno) if error.errno else error
            raise OSError(
                error.errno, f"cannot be written: {why}; {self._kept()}", self.out
            ) from error

    def _kept(self) -> str:
        """Describes which parts are already saved."""
        number = self._num_parts()
        if not number:
            return "nothing is kept"
        parts = "1 part is" if number == 1 else f"{number:,} parts are"
        go_on = f"pass {called('resume')} to go on from there"
        return f"{parts} kept in {self._path}; {go_on}"

    def part(self, first_line: int, lines: Sequence[Tokens]) -> str:
        """Returns the path of the part that holds some lines."""
        # After an update of a tokenizer, parts of other tokens are not taken.
        content = zlib.crc32(b"\n".join(b" ".join(tokens) for tokens in lines))
        return os.fspath(self._path / f"{first_line:012}-{content:08x}.npy")

    def write(self, part: str, numbers: Sequence[np.ndarray]) -> None:
        """Writes the numbers of each line of a part, as one array."""
        size = sum(line.size for line in numbers)
        with replacing(part) as temporary, open(temporary, "wb") as file:
            write_blocks(file, numbers[0].dtype, [size], numbers)

    def read(self, part: str, rows: Sequence[int]) -> list[np.ndarray]:
        """Returns the numbers of each line of a part, by how many rows each has."""
        with reading(part, "is damaged; remove it to compute it again"):
            with open(part, "rb") as file:
                numbers = np.lib.format.read_array(file, allow_pickle=False)
            _, row = numbers.reshape(max(sum(rows), 1), -1).shape
            return np.split(numbers, row * np.cumsum(rows)[:-1])

    def complete(self) -> None:
        """Renames the joined file to `out` and removes the folder."""
        with open(self.joined, "rb") as file:
            os.fsync(file.fileno())
        self.check_out()
        os.replace(self.joined, self.out)
        self.remove()

    def remove(self) -> None:
        """Removes the folder, unless it holds other files."""
        ours = (self._manifest.name, os.path.basename(self.joined), _PARTS, ".*.part")
        for path in chain.from_iterable(map(self._path.glob, ours)):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._path.rmdir()


class Part(NamedTuple):
    """Lines of a text.

    Attributes:
        path: of the part; `""` if it is not saved.
        lines: the tokens of each line.
        vectors: of each line; `None` if the part exists.
        position: bytes of the text before the last line.
    """

    path: str
    lines: list[Tokens]
    vectors: list[np.ndarray] | None
    position: int


def compute_parts(
    text: Iterable[list[Line]],
    encoder: AnyEncoder,
    mix: np.ndarray | None,
    parts: PartFolder | None = None,
) -> Iterator[Part]:
    """Yields the parts of a text in order, and computes those that are missing."""
    embedder = Embedder(encoder)
    first_line = positions = 0
    # Words of parts that exist, to be cached before another part is computed.
    words: list[list[Tokens]] = []
    for window in text:
        lines = [tokens for _, tokens in window]
        path = parts.part(first_line, lines) if parts else ""
        keep_words = positions < _CACHED_POSITIONS
        vectors = None
        if not os.path.exists(path):
            while words:
                embedder.cache_words(words.pop(0))
            vectors = embedder.embed_window(lines, BATCH_SIZE, mix, keep_words)
        elif keep_words:
            words.append([list(dict.fromkeys(chain.from_iterable(lines)))])
        yield Part(path, lines, vectors, window[-1][0])
        first_line += len(lines)
        positions += sum(len(tokens) + 2 for tokens in lines)
