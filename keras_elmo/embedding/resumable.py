"""What tells a text, or a model, from any other."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras

from keras_elmo.models.encoder import Encoder
from keras_elmo.utils.files import lock, read_json_object, write_json


def file_digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a folder's files and their names."""
    digest = hashlib.sha256()
    for file in sorted(Path(path).rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0{file_digest(file)}\n".encode())
    return digest.hexdigest()


def encoder_digest(encoder: Encoder, *others: Any) -> str:
    """Returns the SHA-256 of all that an encoder's vectors depend on.

    Args:
        encoder: wherever it was read from.
        *others: arrays that the vectors depend on, too.
    """
    kind = [
        encoder.config.to_options(),
        encoder.tokenizer,
        encoder.get_config()["dtype"],
    ]
    digest = hashlib.sha256(json.dumps(kind, sort_keys=True).encode())
    for array in (*encoder.weights, *others):
        digest.update(keras.ops.convert_to_numpy(array).tobytes())
    return digest.hexdigest()


class UnfinishedFile:
    """`OUT.unfinished`, and `OUT.unfinished.json`, which says how far it is.

    It is renamed to OUT at the end. Behind its last checkpoint may stand what a
    process that was killed had begun to write; that is cut off.

    Args:
        out: the file that is to be.
        resume: whether one that is there is gone on with.

    Attributes:
        path: of the unfinished file.
        num_lines: lines of text that it held at the last checkpoint.
        num_tokens: tokens in them.
        ends: its size at each checkpoint.

    Raises:
        ValueError: `out` is there already; so is the unfinished file, and `resume` is
            not set.
    """

    def __init__(self, out: str, resume: bool) -> None:
        self.path = f"{out}.unfinished"
        self._state = f"{self.path}.json"
        self._out = out
        self.num_lines = self.num_tokens = 0
        self.ends: list[int] = []
        self._resume = resume
        self._check()

    def _check(self) -> None:
        if os.path.exists(self._out):
            if not os.path.exists(self.path):
                # A process was killed when it had but to remove this.
                self._remove(self._state)
            raise ValueError(
                f"{self._out} exists already; name another file, or remove it"
            )
        if self._is_begun() and not self._resume:
            raise ValueError(
                f"{self.path} is there already, of an interrupted run; set `resume` to "
                "go on with it, or remove it"
            )

    def _is_begun(self) -> bool:
        # Without content there is nothing to go on with, whatever its state says: the
        # one of a file that a person has removed stays behind.
        return os.path.exists(self.path) and os.path.getsize(self.path) > 0

    @contextlib.contextmanager
    def begun(
        self, options: Mapping[str, Any], digests: Mapping[str, str]
    ) -> Iterator[None]:
        """Begins the file, or cuts it off behind its last checkpoint.

        No other process does meanwhile. What stands there when the block ends is to be
        gone on from, unless that is nothing, which is removed.

        Args:
            options: arguments that decide on the content, by their names.
            digests: of what else does, by the arguments that name it.

        Raises:
            ValueError: the file was begun with others, or is not what it was; or
                another process writes it.
        """
        self._recipe = {"options": dict(options), "digests": dict(digests)}
        with self._held():
            begun = self._is_begun()
            if begun:
                self._go_on()
            try:
                if not begun:
                    self._write_state()
                yield
            finally:
                if not self.num_lines:
                    self._remove(self.path)
                    self._remove(self._state)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        with self.writing():
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not lock(descriptor):
                raise ValueError(
                    f"{self.path} must not be in use: another process writes it"
                )
            # Since it was looked at, another may have begun it, or finished.
            self._check()
            yield
        finally:
            os.close(descriptor)

    def _go_on(self) -> None:
        try:
            state = read_json_object(self._state)
            options, digests = state["options"], state["digests"]
            self.num_lines, self.num_tokens = state["lines"], state["tokens"]
            self.ends = list(state["ends"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{self._state}: cannot be read ({error!r}), so nothing can go on from "
                f"{self.path}; remove it to begin again"
            ) from error
        for name, value in self._recipe["options"].items():
            if options.get(name) != value:
                raise ValueError(
                    f"`{name}` must be {options.get(name)!r}, with which {self.path} "
                    f"was begun. Received: {name}={value!r}"
                )
        for name, digest in self._recipe["digests"].items():
            if digests.get(name) != digest:
                raise ValueError(
                    f"`{name}` must be what {self.path} was begun with: it has "
                    "changed since, or is another"
                )
        size = self.ends[-1] if self.ends else 0
        if os.path.getsize(self.path) < size:
            raise ValueError(
                f"{self.path}: must have {size:,} bytes at least, as at its last "
                f"checkpoint, and has {os.path.getsize(self.path):,}; remove it to "
                "begin again"
            )
        with self.writing():
            os.truncate(self.path, size)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Has an error within say what is kept.

        Raises:
            OSError: the file cannot be written.
        """
        try:
            yield
        except OSError as error:
            # A library's own words may be many.
            why = os.strerror(error.errno) if error.errno else error
            kept = "nothing is kept"
            if self.num_lines:
                kept = f"{self.num_lines:,} lines are kept, to go on from with `resume`"
            raise OSError(
                error.errno, f"cannot be written: {why}; {kept}", self.path
            ) from error

    def checkpoint(self, num_lines: int, num_tokens: int, size: int) -> None:
        """Takes note that so much more is on the disk.

        Args:
            num_lines: lines since the last checkpoint.
            num_tokens: tokens in them.
            size: of the whole file.
        """
        self.num_lines += num_lines
        self.num_tokens += num_tokens
        self.ends.append(size)
        self._write_state()

    def where_it_stands(self) -> str:
        """Returns a sentence for those who have interrupted it."""
        if not self.num_lines:
            return "stopped before anything was kept"
        return (
            f"stopped; the first {self.num_lines:,} lines are in {self.path}: resume "
            "to go on from there"
        )

    def complete(self) -> None:
        """Gives the file its name."""
        os.replace(self.path, self._out)
        self._remove(self._state)

    def _write_state(self) -> None:
        with self.writing():
            write_json(
                self._state,
                {
                    **self._recipe,
                    "lines": self.num_lines,
                    "tokens": self.num_tokens,
                    "ends": self.ends,
                },
            )

    @staticmethod
    def _remove(path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
