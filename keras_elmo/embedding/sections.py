"""Section after section, with the words of some of them remembered."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.embedding.resumable import UnfinishedFile
from keras_elmo.models.encoder import Encoder

# Of the biLM: a step of many rows costs little more than one of few.
_BATCH_SIZE = 128
# Between two of which all words are forgotten. Most words of a section stood in those
# before it; who goes on with a file reads the words of so many sections once more.
_SECTIONS_REMEMBERED = 8

Section = Sequence[Sequence[bytes]]


class SectionEmbedder:
    """Embeds the sections of a text in their order.

    The vectors of a section are the same to the bit, whether those before it were
    embedded or skipped.

    Args:
        encoder: whose vectors.
        num_written: how many sections will be skipped.
        mix: a weight for each layer, if their sum is wanted instead of them.
    """

    def __init__(
        self, encoder: Encoder, num_written: int, mix: np.ndarray | None = None
    ) -> None:
        self._encoder = encoder
        self._mix = mix
        self._num_written = num_written
        self._number = 0

    def skip(self, section: Section) -> None:
        """Passes over a section, and reads what the next ones will remember of it."""
        embedder = self._next()
        group = (self._number - 1) // _SECTIONS_REMEMBERED
        if group == self._num_written // _SECTIONS_REMEMBERED:
            embedder.learn(section, _BATCH_SIZE)

    def embed(self, section: Section) -> Iterator[np.ndarray]:
        """Yields the layers of each sentence, `(num_layers + 1, tokens, units)`.

        With a mix, their sum, `(tokens, units)`.
        """
        return self._next().embed(section, _BATCH_SIZE, self._mix)

    def _next(self) -> Embedder:
        if self._number % _SECTIONS_REMEMBERED == 0:
            self._embedder = Embedder(self._encoder)
        self._number += 1
        return self._embedder


# Calls with the vectors of some hundred lines each.
_MOST_WAITING = 3

Tokens = Sequence[bytes]
Line = tuple[Tokens, np.ndarray]


class VectorWriter(Protocol):
    """Appends lines to a file that can be cut off behind each checkpoint."""

    def skip(self, num_lines: int) -> None: ...

    def write(self, lines: Iterable[Line]) -> None: ...

    def checkpoint(self) -> int: ...

    def finish(self, ends: Sequence[int]) -> None: ...

    def close(self) -> None: ...


class SectionWriter:
    """While its `with` block runs, writes in a thread, section by section.

    A section counts when all of it is on the disk. So many calls wait at most, while
    another runs, that bringing a section to the disk keeps nobody waiting, and what is
    in memory has a bound.

    Args:
        unfinished: the file, and how far it is.
        writer: of its format.
    """

    def __init__(self, unfinished: UnfinishedFile, writer: VectorWriter) -> None:
        self._unfinished = unfinished
        self._writer = writer

    def __enter__(self) -> "SectionWriter":
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._calls: deque[Future[None]] = deque()
        self._has_failed = False
        return self

    @property
    def num_written(self) -> int:
        """How many sections the file holds already."""
        return len(self._unfinished.ends)

    def skip_written(
        self, sections: Iterator[Sequence[Tokens]]
    ) -> Iterator[Sequence[Tokens]]:
        """Yields the sections that the file holds already, which are to be passed over.

        Raises:
            ValueError: their tokens are others than they were.
        """
        self._writer.skip(self._unfinished.num_lines)
        num_lines = num_tokens = 0
        for section in islice(sections, self.num_written):
            num_lines += len(section)
            num_tokens += sum(map(len, section))
            yield section
        written = self._unfinished.num_lines, self._unfinished.num_tokens
        if (num_lines, num_tokens) != written:
            raise ValueError(
                f"{self._unfinished.path}: its first sections had {written[0]:,} lines "
                f"and {written[1]:,} tokens when they were written, and have "
                f"{num_lines:,} and {num_tokens:,}; remove it to begin again"
            )

    def write(self, lines: Iterable[Line]) -> None:
        """Has lines written.

        Raises:
            OSError: what was to be written before cannot be.
        """
        self._submit(self._writer.write, lines)

    def end_section(self, num_lines: int, num_tokens: int) -> None:
        """Has what was written since the last section brought to the disk.

        Raises:
            OSError: what was to be written before cannot be.
        """

        def keep() -> None:
            size = self._writer.checkpoint()
            self._unfinished.checkpoint(num_lines, num_tokens, size)

        self._submit(keep)

    def finish(self) -> None:
        """Waits, completes the file, and gives it its name.

        Raises:
            OSError: something cannot be written.
        """
        self._submit(lambda: self._writer.finish(self._unfinished.ends))
        self._wait(0)
        self._unfinished.complete()

    def _submit(self, function: Callable[..., None], *arguments: Any) -> None:
        self._wait(_MOST_WAITING)
        self._calls.append(self._thread.submit(self._call, function, *arguments))

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        if self._has_failed:
            # Nothing counts behind what could not be written.
            return
        try:
            function(*arguments)
        except BaseException:
            self._has_failed = True
            raise

    def _wait(self, num_left: int) -> None:
        """Returns when no more calls than so many are left."""
        while len(self._calls) > num_left:
            with self._unfinished.writing():
                self._calls.popleft().result()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread.shutdown()
        self._writer.close()
