"""The parts of a file that is being made, and what they are made from."""

import contextlib
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from keras_elmo.embedding.embedder import Embedder, windows
from keras_elmo.files.onnx_session import OnnxEncoder
from keras_elmo.files.sources import AnyEncoder
from keras_elmo.text.batching import Tokens
from keras_elmo.utils.arrays import write_blocks
from keras_elmo.utils.checks import called
from keras_elmo.utils.files import (
    file_hash,
    is_leftover,
    read_json_object,
    replacing,
    write_json,
)
from keras_elmo.utils.locks import held
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import Tensor

# Sentences in a batch: a step of many rows costs little more than one of few.
BATCH_SIZE = 128
# The words of the text's first positions are cached; each part computes its others
# anew. So a part depends on nothing but these words and itself.
_CACHED_POSITIONS = 524_288

# What an output is made from: options and content hashes, by the arguments' names.
Manifest = Mapping[str, object]
# The arguments that a manifest has a hash of.
_HASHED = ("input", "model", "files")
# Names of parts.
_PART = re.compile(r"\d{12}-[0-9a-f]{8}\.npy")


def encoder_hash(encoder: AnyEncoder, *arrays: Tensor) -> str:
    """Returns the SHA-256 of what an encoder's vectors depend on, and of arrays."""
    if isinstance(encoder, OnnxEncoder):
        digest = hashlib.sha256(file_hash(encoder.path).encode())
        for array in arrays:
            digest.update(np.asarray(array).tobytes())
        return digest.hexdigest()
    from keras import ops

    kind = [
        encoder.config.to_options(),
        encoder.tokenizer,
        encoder.get_config()["dtype"],
    ]
    digest = hashlib.sha256(json.dumps(kind, sort_keys=True).encode())
    for array in (*encoder.weights, *arrays):
        digest.update(ops.convert_to_numpy(array).tobytes())
    return digest.hexdigest()


def check_manifest(begun: Manifest, expected: Manifest, where: str) -> None:
    """Raises a `ValueError` unless an output was begun with the same."""
    for name, value in expected.items():
        if begun.get(name) != value:
            rule = f"`{name}` must be what it was when {where} was begun"
            if name in _HASHED:
                raise ValueError(f"{rule}; its content is another")
            raise ValueError(f"{rule}, {begun.get(name)!r}. Received: {name}={value!r}")


def part_name(first_line: int, suffix: str) -> str:
    """Returns the name of a part, which says which lines it holds."""
    return f"{first_line:012}{suffix}"


class PartFolder:
    """`OUT.parts`: the parts of a file that is not complete, and their manifest.

    `joined` is the path of the file in the folder that is to become `out`. Unless an
    interrupted run is resumed, neither `out` nor its parts may exist.
    """

    def __init__(self, out: str, resume: bool) -> None:
        self.out = out
        self._resume = resume
        self._path = f"{out}.parts"
        self._manifest = os.path.join(self._path, "manifest.json")
        self.joined = os.path.join(self._path, f"joined{os.path.splitext(out)[1]}")
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

    @contextlib.contextmanager
    def opened(self, manifest: Manifest) -> Iterator[None]:
        """Locks the folder for this process, and removes it if it gets no part."""
        with self.writing():
            os.makedirs(self._path, exist_ok=True)
        used = f"{self._path} must not be in use: another process writes it"
        with held(self._path, used):
            # Another process may have begun or completed it meanwhile.
            self._check()
            if self._num_parts():
                check_manifest(self._read_manifest(), manifest, self._path)
            try:
                with self.writing():
                    write_json(self._manifest, manifest)
                yield
            finally:
                if not self._num_parts():
                    self.remove()

    def _num_parts(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            return sum(map(bool, map(_PART.fullmatch, os.listdir(self._path))))
        return 0

    def num_bytes(self) -> int:
        """Returns the size of all files in the folder."""
        with os.scandir(self._path) as files:
            return sum(file.stat().st_size for file in files)

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
                error.errno, f"cannot be written: {why}; {self.kept()}", self.out
            ) from error

    def kept(self) -> str:
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
        return os.path.join(self._path, part_name(first_line, f"-{content:08x}.npy"))

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
        ours = {os.path.basename(path) for path in (self._manifest, self.joined)}
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._path):
                if name in ours or _PART.fullmatch(name) or is_leftover(name):
                    os.remove(os.path.join(self._path, name))
        with contextlib.suppress(OSError):
            os.rmdir(self._path)


class Part(NamedTuple):
    """Lines of a text.

    Attributes:
        path: of the part; `""` if it is not saved.
        lines: the tokens of each line.
        vectors: of each line; `None` if the part exists.
        position: bytes of the text up to the end of the part.
    """

    path: str
    lines: list[Tokens]
    vectors: list[np.ndarray] | None
    position: int


def windows_of(
    text: Iterable[tuple[int, Tokens]],
) -> Iterator[tuple[list[Tokens], int]]:
    """Yields the lines of each part, and the position in the text."""
    for window in windows(text, BATCH_SIZE, lambda line: len(line[1])):
        positions, lines = zip(*window, strict=True)
        yield list(lines), positions[-1]


def compute_parts(
    text: Iterable[tuple[list[Tokens], int]],
    encoder: AnyEncoder,
    mix: np.ndarray | None,
    parts: PartFolder | None = None,
) -> Iterator[Part]:
    """Yields the parts of a text in order, and computes those that are missing."""
    embedder = Embedder(encoder)
    first_line = positions = 0
    # Words of parts that exist, to be cached before another part is computed.
    words: list[list[Tokens]] = []
    for window, position in text:
        path = parts.part(first_line, window) if parts else ""
        keep_words = positions < _CACHED_POSITIONS
        vectors = None
        if not os.path.exists(path):
            while words:
                embedder.cache_words(words.pop(0))
            vectors = embedder.embed_window(window, BATCH_SIZE, mix, keep_words)
        elif keep_words:
            words.append([list(dict.fromkeys(chain.from_iterable(window)))])
        yield Part(path, window, vectors, position)
        first_line += len(window)
        positions += sum(len(tokens) + 2 for tokens in window)
