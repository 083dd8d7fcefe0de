"""Dynamic batching: requests of several clients in one call of the model."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np

from keras_elmo.serving import metrics
from keras_elmo.serving.limits import Code, Limits, ServingError, invalid
from keras_elmo.serving.model import LENGTHS, Arrays, Model, Signature

# The longest wait for the clients of the last batch, as a share of its seconds.
_WAIT_SHARE = 0.15


class Request(NamedTuple):
    """What one client asks for; no sentence has more tokens than `longest`."""

    signature: Signature
    inputs: Mapping[str, np.ndarray]
    outputs: Collection[str]
    sentences: int
    longest: int


Waiting = tuple[Request, "Future[Arrays]"]


def compute(requests: Sequence[Request]) -> list[Arrays]:
    """Computes requests of one signature together, each padded as if it were alone."""
    signature = requests[0].signature
    names = {name for request in requests for name in request.outputs}
    inputs = {
        name: _concatenate([request.inputs[name] for request in requests])
        for name in signature.arguments
    }
    outputs = signature(inputs, names | {LENGTHS})
    answers = []
    start = 0
    for request in requests:
        rows = slice(start, start + request.sentences)
        start = rows.stop
        if signature.token_argument is None:
            longest = outputs[LENGTHS][rows].max(initial=0)
        else:
            longest = request.inputs[signature.token_argument].shape[1]
        answer = {name: outputs[name][rows] for name in request.outputs}
        answers.append(
            {
                name: np.ascontiguousarray(
                    rows[:, :longest] if rows.ndim == 3 else rows
                )
                for name, rows in answer.items()
            }
        )
    return answers


def _concatenate(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Joins arrays along the first axis; tokens are padded to the longest row."""
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    longest = max(array.shape[1] for array in arrays)
    joined = np.full((sum(map(len, arrays)), longest), b"", object)
    start = 0
    for array in arrays:
        joined[start : start + len(array), : array.shape[1]] = array
        start += len(array)
    return joined


class Batcher:
    """Checks requests and computes those of several clients together.

    A request is computed at once if no other is. Those that arrive meanwhile are
    computed together after it, so batches grow with the load.

    Clients that were answered together come back one after the other, and the first
    would be computed alone. So after a batch of several requests the next one waits
    until as many have arrived, for 15 % of the time that the batch took at most.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.num_batches = 0
        self._expected = 0
        self._max_wait = 0.0
        self._thread = threading.Thread(target=self._run, name="batcher", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """Returns the number of requests that wait."""
        return len(self._waiting)

    async def predict(
        self,
        model: Model,
        signature: Signature,
        inputs: Arrays,
        output_filter: Sequence[str] | None = None,
    ) -> Arrays:
        """Computes all outputs of a signature, or those named."""
        outputs = output_filter or signature.outputs
        if len(set(outputs).intersection(signature.outputs)) != len(outputs):
            raise invalid(
                f"output_filter must name different ones of {signature.outputs}",
                [name[:60] for name in outputs[:20]],
            )
        counts = {name: len(array) for name, array in inputs.items()}
        sentences = max(counts.values())
        if min(counts.values()) != sentences:
            raise invalid(
                "The inputs must have as many sentences each",
                " and ".join(f"{count} of '{name}'" for name, count in counts.items()),
            )
        limit = self._limits.sentences
        if sentences > limit:
            raise invalid(f"A request may have {limit:,} sentences", f"{sentences:,}")
        with model.in_use():
            longest = await self._longest(signature, inputs, sentences)
            request = Request(signature, inputs, outputs, sentences, longest)
            return await asyncio.wrap_future(self.submit(request))

    async def _longest(
        self, signature: Signature, inputs: Arrays, sentences: int
    ) -> int:
        """The tokens of the longest sentence, or an upper bound within the limit."""
        limit = self._limits.tokens
        if signature.token_argument is not None:
            longest = inputs[signature.token_argument].shape[1]
        else:
            (strings,) = inputs.values()
            # A string has at most as many tokens as bytes, which nearly always
            # suffices; otherwise the tokenizer counts.
            longest = max(map(len, strings), default=0)
            if sentences * longest > limit:
                counted = await asyncio.to_thread(signature, inputs, [LENGTHS])
                longest = int(counted[LENGTHS].max())
        if sentences * longest > limit:
            raise invalid(
                f"A request may have {limit:,} tokens, padding included",
                f"{sentences:,} sentences, the longest of {longest:,} tokens",
            )
        return longest

    def submit(self, request: Request) -> "Future[Arrays]":
        """Queues a request, which is dropped if its future is cancelled."""
        future: Future[Arrays] = Future()
        with self._changed:
            if self._closed:
                raise ServingError(Code.UNAVAILABLE, "The server is shutting down")
            if len(self._waiting) >= self._limits.waiting:
                raise ServingError(
                    Code.UNAVAILABLE,
                    f"{self._limits.waiting} requests wait already; try again later",
                )
            self._waiting.append((request, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Computes the waiting requests and stops."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._next_batch():
            metrics.BATCH_SENTENCES.observe(sum(each.sentences for each, _ in batch))
            metrics.BATCH_REQUESTS.observe(len(batch))
            began = time.monotonic()
            self._compute(batch)
            self.num_batches += 1
            self._expected = len(batch)
            self._max_wait = _WAIT_SHARE * (time.monotonic() - began)

    def _next_batch(self) -> list[Waiting]:
        """Waits for requests; takes the first and those that fit beside it."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return []
                if self._expected > 1:
                    self._changed.wait_for(
                        lambda: len(self._waiting) >= self._expected or self._closed,
                        self._max_wait,
                    )
                batch: list[Waiting] = []
                rest: deque[Waiting] = deque()
                for request, future in self._waiting:
                    if not self._fits(request, [taken for taken, _ in batch]):
                        rest.append((request, future))
                    elif future.set_running_or_notify_cancel():
                        batch.append((request, future))
                self._waiting = rest
                if batch:
                    return batch

    def _fits(self, request: Request, batch: list[Request]) -> bool:
        if not batch:
            return True
        together = [*batch, request]
        sentences = sum(each.sentences for each in together)
        tokens = sentences * max(each.longest for each in together)
        signature = batch[0].signature
        batchable = request.signature is signature and signature.batchable
        return batchable and tokens <= self._limits.tokens

    def _compute(self, batch: list[Waiting]) -> None:
        try:
            answers = compute([request for request, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:
                # Retry singly so that one bad request fails alone.
                for each in batch:
                    self._compute([each])
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            future.set_result(answer)
