"""A model that is served, of any kind, and its signatures."""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from keras_elmo.files.description import PREFIXES
from keras_elmo.serving.limits import invalid
from keras_elmo.text.splitting import FirstText

Arrays = dict[str, np.ndarray]

# Writing these takes about a millisecond.
NUMBERS_AT_ONCE = 16_384

TOKENS, LENGTHS = "tokens", "sequence_len"
# The signature of requests that do not name one.
DEFAULT = "serving_default"


async def encode(outputs: Arrays, write: Callable[[Arrays], bytes]) -> bytes:
    """Calls `write`, so that the event loop goes on if the outputs are large."""
    if sum(array.size for array in outputs.values()) <= NUMBERS_AT_ONCE:
        return write(outputs)
    return await asyncio.to_thread(write, outputs)


def check_padding(inputs: Arrays) -> None:
    """Raises if a sentence is longer than its row, or has a gap.

    A gap is an empty string before a word.
    """
    for prefix in PREFIXES:
        name = f"{prefix}{TOKENS}"
        if name not in inputs:
            continue
        tokens, lengths = inputs[name], inputs[f"{prefix}{LENGTHS}"]
        width = tokens.shape[1]
        for place in np.flatnonzero((lengths < 0) | (lengths > width)):
            raise invalid(
                f"'{prefix}{LENGTHS}', item {place}: must be from 0 to {width}, the "
                f"number of '{name}' in a row",
                lengths[place],
            )
        read = np.arange(width) < lengths[:, np.newaxis]
        filled = (tokens != b"") & read
        for place in np.flatnonzero((filled[:, 1:] & ~filled[:, :-1]).any(axis=1)):
            raise invalid(
                f"'{name}', item {place}: must have no empty string before a word; "
                "pad at the end"
            )


class Argument(NamedTuple):
    """The type (`object` for strings) and the rank of an input."""

    dtype: np.dtype
    rank: int


class ServedSignature:
    """A function of NumPy arrays, which TensorFlow or ONNX Runtime computes.

    Args:
        batchable: whether a sentence's outputs do not depend on the rest of a batch.
        arguments: the inputs by their names.
        shapes: shapes of the outputs by their names, with integers for fixed sizes.

    Attributes:
        outputs: names of the outputs.
        token_outputs: names of the outputs with an axis of tokens, the second.
        token_argument: an input with an axis of tokens; `None` if the model splits
            strings itself.
    """

    def __init__(
        self,
        batchable: bool,
        arguments: dict[str, Argument],
        shapes: Mapping[str, Sequence[object]],
    ) -> None:
        self.batchable = batchable
        self.arguments = arguments
        self.outputs = tuple(sorted(shapes))
        self.token_outputs = frozenset(
            name
            for name, (_, *sizes) in shapes.items()
            if sizes and not isinstance(sizes[0], int)
        )
        self.token_argument = next(
            (name for name, (_, rank) in arguments.items() if rank == 2), None
        )
        self._look_at = FirstText()

    def __call__(self, inputs: Arrays, outputs: Collection[str]) -> Arrays:
        """Returns an array for each name in `outputs`."""
        if self.token_argument is None:
            for strings in inputs.values():
                self._look_at(strings.tolist())
        return self._compute(inputs, outputs)

    def _compute(self, inputs: Arrays, outputs: Collection[str]) -> Arrays:
        raise NotImplementedError  # Both subclasses have their own.


class ServedModel:
    """One version of a model: its signatures, and their definitions for clients."""

    signatures: Mapping[str, ServedSignature]
    signature_defs: dict[str, object]

    def __init__(self, version: int) -> None:
        self.version = version
        self._users = 0
        self._unused = threading.Condition()

    def signature(self, name: str) -> ServedSignature:
        """Returns a signature, or raises `ServingError`; `""` names the default one."""
        name = name or DEFAULT
        if name not in self.signatures:
            raise invalid(
                f'Serving signature name: "{name}" not found in signature def; '
                f"there are {', '.join(sorted(self.signatures))}",
            )
        return self.signatures[name]

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While the block runs, `wait_until_unused` waits."""
        with self._unused:
            self._users += 1
        try:
            yield
        finally:
            with self._unused:
                self._users -= 1
                self._unused.notify_all()

    def wait_until_unused(self) -> None:
        """Returns when nobody uses the model."""
        with self._unused:
            self._unused.wait_for(lambda: not self._users)
