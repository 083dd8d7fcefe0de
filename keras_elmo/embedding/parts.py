"""Parts of an output: written whole, named for the lines they hold."""

import contextlib
import hashlib
import json
import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from keras_elmo.embedding.options import EmbedOptions
from keras_elmo.embedding.part_batches import PartBatches
from keras_elmo.files.onnx_encoder import OnnxEncoder
from keras_elmo.files.sources import AnyEncoder
from keras_elmo.text.batching import Tokens
from keras_elmo.utils.checks import called
from keras_elmo.utils.files import (
    file_hash,
    is_leftover,
    lock,
    read_json_object,
    replacing,
    write_json,
)
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath, Tensor

# What an output is made from: options and content hashes, by the arguments' names.
Manifest = Mapping[str, object]
# Of these it has hashes of the content.
_HASHED = ("input", "model", "files")


def to_numbers(vectors: Sequence[np.ndarray], options: EmbedOptions) -> np.ndarray:
    """Returns what is written of some lines, one line after the other.

    Args:
        vectors: of each line, `(tokens, units)` or `(layers, tokens, units)`.
        options: decide on rows and type.
    """
    if options.rows == "sentences":
        vectors = [mean_over_tokens(each) for each in vectors]
    return np.concatenate([each.ravel() for each in vectors]).astype(options.dtype)


def mean_over_tokens(vectors: np.ndarray) -> np.ndarray:
    """Returns the mean over the last axis but one; that of no tokens is zero."""
    return vectors.sum(axis=-2) / max(vectors.shape[-2], 1)


def folder_hash(path: StrPath) -> str:
    """Returns the SHA-256 of a folder's files and their names."""
    digest = hashlib.sha256()
    for file in sorted(Path(path).rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0{file_hash(file)}\n".encode())
    return digest.hexdigest()


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


def check_manifest(found: Manifest, expected: Manifest, where: str) -> None:
    """Compares what an output was begun with.

    Raises:
        ValueError: an option, the text or the model is another.
    """
    for name, value in expected.items():
        if found.get(name) != value:
            rule = f"`{name}` must be what it was when {where} was begun"
            if name in _HASHED:
                raise ValueError(f"{rule}; its content is another")
            raise ValueError(f"{rule}, {found.get(name)!r}. Received: {name}={value!r}")


def part_name(first_line: int, suffix: str) -> str:
    """Returns the name of a part, which says which lines it holds."""
    return f"{first_line:012}{suffix}"


class PartFolder:
    """`OUT.parts`: the parts of a file that is not complete, and their manifest.

    Args:
        out: path of the file.
        resume: whether to go on with the parts of an interrupted run.

    Attributes:
        joined: path of the file in the folder that is to become `out`.

    Raises:
        ValueError: `out` or its parts exist, and `resume` is not set.
    """

    def __init__(self, out: str, resume: bool) -> None:
        self._out = out
        self._resume = resume
        self._path = f"{out}.parts"
        self._manifest = os.path.join(self._path, "manifest.json")
        self._batches: defaultdict[str, list[str]] = defaultdict(list)
        self.joined = os.path.join(self._path, f"joined{os.path.splitext(out)[1]}")
        if not resume:
            self.check_out()
            self._check_parts()

    def check_out(self) -> None:
        """Raises a `ValueError` if the file exists."""
        if os.path.exists(self._out):
            raise ValueError(
                f"{self._out} exists already; name another file, or remove it"
            )

    def _check_parts(self) -> None:
        if not self._resume and self._num_parts():
            raise ValueError(
                f"{self._path} exists from an interrupted run; pass "
                f"{called('resume')} to go on with it, or remove it"
            )

    @contextlib.contextmanager
    def opened(self, manifest: Manifest) -> Iterator[None]:
        """Locks the folder for this process; removes it if no part comes of it.

        Raises:
            ValueError: the parts are of another text, model or option, or another
                process writes them.
        """
        with self.writing():
            os.makedirs(self._path, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDONLY)
        try:
            if not lock(descriptor):
                raise ValueError(
                    f"{self._path} must not be in use: another process writes it"
                )
            # Another process may have begun or completed it meanwhile.
            self.check_out()
            self._check_parts()
            if self._num_parts():
                check_manifest(self._read_manifest(), manifest, self._path)
            for name in sorted(filter(_is_batches, os.listdir(self._path))):
                part = os.path.join(self._path, f"{name.split('.')[0]}.npy")
                self._batches[part].append(os.path.join(self._path, name))
            try:
                with self.writing():
                    write_json(self._manifest, manifest)
                yield
            finally:
                if not self._num_parts():
                    self.remove()
        finally:
            os.close(descriptor)

    def _num_parts(self) -> int:
        """Returns how many there are; what there is of another one counts, too."""
        with contextlib.suppress(FileNotFoundError):
            names = os.listdir(self._path)
            begun = {name.split(".")[0] for name in filter(_is_batches, names)}
            return len(begun | {name[:-4] for name in filter(_is_part, names)})
        return 0

    def num_bytes(self) -> int:
        """Returns the size of all that is written."""
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
        """Makes an error within say what is kept.

        Raises:
            OSError: a file cannot be written.
        """
        try:
            yield
        except OSError as error:
            # A library's own words may be many.
            why = os.strerror(error.errno) if error.errno else error
            raise OSError(
                error.errno, f"cannot be written: {why}; {self.kept()}", self._out
            ) from error

    def kept(self) -> str:
        """Returns what there is to go on from."""
        number = self._num_parts()
        if not number:
            return "nothing is kept"
        parts = "1 part is" if number == 1 else f"{number:,} parts are"
        go_on = f"pass {called('resume')} to go on from there"
        return f"{parts} kept in {self._path}; {go_on}"

    def part(self, first_line: int, lines: Sequence[Tokens]) -> str:
        """Returns the path of the part that holds some lines."""
        # Parts of other tokens, of another version of a tokenizer, are not taken.
        content = zlib.crc32(b"\n".join(b" ".join(tokens) for tokens in lines))
        return os.path.join(self._path, part_name(first_line, f"-{content:08x}.npy"))

    def batches(self, part: str) -> PartBatches:
        """Returns the batches of a part that is not complete."""
        return PartBatches(self._batches[part], part, self.writing)

    def write(self, part: str, numbers: np.ndarray) -> None:
        """Writes the numbers of a part's lines."""
        with replacing(part) as temporary, open(temporary, "wb") as file:
            np.save(file, numbers)
        for path in self._batches.pop(part, ()):
            os.remove(path)

    def read(self, part: str) -> np.ndarray:
        """Returns the numbers of a part's lines.

        Raises:
            ValueError: the part is damaged.
        """
        with reading(part, "is damaged; remove it to compute it again"):
            with open(part, "rb") as file:
                return np.lib.format.read_array(file, allow_pickle=False)

    def complete(self) -> None:
        """Names the joined file and removes the folder."""
        with open(self.joined, "rb") as file:
            os.fsync(file.fileno())
        self.check_out()
        os.replace(self.joined, self._out)
        self.remove()

    def remove(self) -> None:
        """Removes the folder, unless it holds files of others."""
        ours = {os.path.basename(path) for path in (self._manifest, self.joined)}
        tests = (_is_part, _is_batches, is_leftover)
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._path):
                if name in ours or any(test(name) for test in tests):
                    os.remove(os.path.join(self._path, name))
        with contextlib.suppress(OSError):
            os.rmdir(self._path)


def _is_part(name: str) -> bool:
    return re.fullmatch(r"\d{12}-[0-9a-f]{8}\.npy", name) is not None


def _is_batches(name: str) -> bool:
    return re.fullmatch(r"\d{12}-[0-9a-f]{8}\.\d+\.npz", name) is not None
