"""Standard streams of a command, and signals that end it."""

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import chain
from types import FrameType
from typing import Any, TextIO, TypeVar

from keras_elmo.utils.files import replacing_text

T = TypeVar("T")

# Stands for a standard stream in place of a file.
STANDARD = "-"

# Signals that end a process but leave it time to clean up.
_ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class _Stream(io.FileIO):
    """A standard stream whose errors name it, and which drops the rest after one."""

    def __init__(self, number: int, mode: str, name: str) -> None:
        super().__init__(number, mode, closefd=False)
        self._name = name
        self._failed = False

    def write(self, content: Any, /) -> int:
        if self._failed:
            return memoryview(content).nbytes
        with self._named():
            return super().write(content)

    def readinto(self, buffer: Any, /) -> int:
        with self._named():
            return super().readinto(buffer)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failed = True
            raise OSError(error.errno, error.strerror, self._name) from error


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Gives a command standard streams that errors name.

    Text is UTF-8 in every locale. An unusable file replaces a closed stream: otherwise
    the next file would get the stream's number, and what libraries print. Streams that
    a program has replaced stay.
    """
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The system gives it the lowest free number, which is this one.
            os.open(os.devnull, mode)
    with contextlib.ExitStack() as stack:
        if sys.stdin is sys.__stdin__:
            raw = _Stream(0, "r", "standard input")
            stdin = io.TextIOWrapper(io.BufferedReader(raw), "utf-8")
            stack.enter_context(_replaced("stdin", stdin))
        if sys.stderr is None:
            dropped = open(2, "w", encoding="utf-8", closefd=False)
            stack.enter_context(_replaced("stderr", dropped))
        if sys.stdout is sys.__stdout__:
            raw = _Stream(1, "w", "standard output")
            text = io.TextIOWrapper(
                io.BufferedWriter(raw),
                "utf-8",
                # Names of files may have any bytes.
                "surrogateescape",
                line_buffering=raw.isatty(),
                write_through=getattr(sys.stdout, "write_through", False),
            )
            stack.enter_context(_replaced("stdout", text))
            stack.callback(_flush, text)
        yield


@contextlib.contextmanager
def _replaced(name: str, stream: TextIO) -> Iterator[None]:
    before = getattr(sys, name)
    setattr(sys, name, stream)
    try:
        yield
    finally:
        setattr(sys, name, before)


def _flush(stream: TextIO) -> None:
    with contextlib.suppress(OSError):
        stream.flush()


@contextlib.contextmanager
def written(path: str) -> Iterator[TextIO]:
    """Yields a file, which is written as a whole or not at all, or standard output."""
    if path == STANDARD:
        yield sys.stdout
    else:
        with replacing_text(path) as file:
            yield file


class EndingSignals:
    """Turns SIGTERM and SIGHUP into a `KeyboardInterrupt` while its block runs.

    Commands then remove temporary files and keep parts, as after Ctrl-C. A second
    signal ends the process at once. Ignored signals, as under `nohup`, stay ignored.
    `number` is the last signal, or SIGINT if none came.
    """

    def __init__(self) -> None:
        self.number = signal.SIGINT
        self._handled: list[signal.Signals] = []

    def __enter__(self) -> "EndingSignals":
        # Only the main thread can handle signals.
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, self._end)
                    self._handled.append(number)
        return self

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.number = signal.Signals(number)
        self.__exit__()
        raise KeyboardInterrupt(f"ended by {self.number.name}")

    def __exit__(self, *error: object) -> None:
        for number in self._handled:
            signal.signal(number, signal.SIG_DFL)


def not_empty(lines: Iterable[T], path: str) -> Iterator[T]:
    """Returns the lines of a text, or raises a `ValueError` if it has no lines."""
    lines = iter(lines)
    for first in lines:
        return chain([first], lines)
    name = "standard input" if path == STANDARD else path
    raise ValueError(f"there is no text in {name}")
