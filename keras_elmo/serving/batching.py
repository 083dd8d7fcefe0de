"""The requests of several clients as one call of the model, and apart again."""

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from keras_elmo.serving.errors import Code, ServingError
from keras_elmo.serving.signature import LENGTHS, Arrays, Signature


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """What one client wants.

    Attributes:
        signature: what to call.
        inputs: an array for each of its arguments, with sentences along the first axis.
        outputs: the names of what is wanted.
        sentences: how many there are.
        longest: the tokens of the longest one, at most.
    """

    signature: Signature
    inputs: Mapping[str, np.ndarray]
    outputs: Collection[str]
    sentences: int
    longest: int


def compute(requests: Sequence[Request]) -> list[Arrays]:
    """Calls the model once.

    Args:
        requests: of one signature.

    Returns:
        Their outputs; each is padded as if its request were alone.
    """
    signature = requests[0].signature
    wanted = {name for request in requests for name in request.outputs}
    inputs = {
        name: _joined([request.inputs[name] for request in requests])
        for name in signature.arguments
    }
    return _apart(signature(inputs, wanted | {LENGTHS}), requests)


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """One after the other; tokens are padded to the longest."""
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    longest = max(array.shape[1] for array in arrays)
    joined = np.full((sum(map(len, arrays)), longest), b"", object)
    start = 0
    for array in arrays:
        joined[start : start + len(array), : array.shape[1]] = array
        start += len(array)
    return joined


def _apart(found: Arrays, requests: Sequence[Request]) -> list[Arrays]:
    answers = []
    start = 0
    for request in requests:
        rows = slice(start, start + request.sentences)
        start += request.sentences
        given = request.signature.given_tokens
        if given is None:
            longest = found[LENGTHS][rows].max(initial=0)
        else:
            longest = request.inputs[given].shape[1]
        answers.append(
            {
                name: np.ascontiguousarray(
                    found[name][rows, :longest]
                    if found[name].ndim == 3
                    else found[name][rows]
                )
                for name in request.outputs
            }
        )
    return answers


# Of the time that the batch before has taken.
_PATIENCE = 0.15

Waiting = tuple[Request, "Future[Arrays]"]


class Batcher:
    """Has requests of several clients computed together.

    A request is computed at once if nothing else is; those that come meanwhile are
    computed together after it. So the busier the server is, the larger are its batches.

    Clients that were answered together ask again one after the other, and the first of
    them would be computed alone. So a batch that follows one of several requests waits
    until there are as many again, for a fraction of the time that one took at most.

    Args:
        max_tokens: the most tokens of a batch, with padding; a request alone may have
            more.
        max_waiting: the most requests that wait.
        observe: called with each batch, before it is computed.

    Attributes:
        num_batches: how many have been computed.
    """

    def __init__(
        self,
        max_tokens: int,
        max_waiting: int,
        observe: Callable[[list[Request]], Any] = lambda batch: None,
    ) -> None:
        self._max_tokens = max_tokens
        self._max_waiting = max_waiting
        self._observe = observe
        self._waiting: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.num_batches = 0
        self._regulars = 0
        self._patience = 0.0
        self._thread = threading.Thread(target=self._run, name="batcher", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    def submit(self, request: Request) -> "Future[Arrays]":
        """Returns what will be the request's outputs.

        Cancelled while it waits, it is not computed.

        Raises:
            ServingError: too many wait already, or the batcher is closed.
        """
        future: Future[Arrays] = Future()
        with self._changed:
            if self._closed:
                raise ServingError(Code.UNAVAILABLE, "The server is shutting down")
            if len(self._waiting) >= self._max_waiting:
                raise ServingError(
                    Code.UNAVAILABLE,
                    f"{self._max_waiting} requests wait already; try again later",
                )
            self._waiting.append((request, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Computes what waits, and ends."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._next():
            self._observe([request for request, _ in batch])
            began = time.monotonic()
            self._compute(batch)
            self.num_batches += 1
            self._regulars = len(batch)
            self._patience = _PATIENCE * (time.monotonic() - began)

    def _next(self) -> list[Waiting]:
        """Waits for requests; takes the first, and what may be computed with it."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return []
                self._wait_for_regulars()
                batch, rest = self._split()
                self._waiting = rest
                if batch:
                    return batch

    def _wait_for_regulars(self) -> None:
        def are_there() -> bool:
            return len(self._waiting) >= self._regulars or self._closed

        if self._regulars > 1:
            self._changed.wait_for(are_there, self._patience)

    def _split(self) -> tuple[list[Waiting], deque[Waiting]]:
        batch: list[Waiting] = []
        rest: deque[Waiting] = deque()
        for request, future in self._waiting:
            if not self._fits(request, [taken for taken, _ in batch]):
                rest.append((request, future))
            elif future.set_running_or_notify_cancel():
                batch.append((request, future))
        return batch, rest

    def _fits(self, request: Request, batch: list[Request]) -> bool:
        together = [*batch, request]
        padded = sum(each.sentences for each in together)
        padded *= max(each.longest for each in together)
        signature = together[0].signature
        joins = request.signature is signature and signature.joins
        return not batch or (joins and padded <= self._max_tokens)

    def _compute(self, batch: list[Waiting]) -> None:
        try:
            answers = compute([request for request, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:
                # Whichever it is, its neighbours shall not suffer from it.
                for each in batch:
                    self._compute([each])
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            future.set_result(answer)
