"""Dynamic batching: requests of several clients in one call of the model."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future

from keras_elmo.config import MAX_BYTES
from keras_elmo.serving import metrics
from keras_elmo.serving.limits import Code, Limits, ServingError, invalid
from keras_elmo.serving.request import PART_TOKENS, Request, compute, compute_in_parts
from keras_elmo.serving.signatures import (
    LENGTHS,
    Arrays,
    ServedModel,
    ServedSignature,
    check_padding,
)

# The longest wait for the clients of the last batch, as a share of its seconds.
_WAIT_SHARE = 0.15
_WORD_BYTES = 4_096

Waiting = tuple[Request, "Future[Arrays]"]


class Batcher:
    """Checks requests and computes them together.

    A request is computed at once if no other is. Requests that arrive meanwhile are
    computed together after it, so batches grow with the load.

    Long requests have a thread of their own, which computes them one by one and in
    parts, so that short requests do not wait for them.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._short = _Queue(limits.tokens, "batcher")
        self._long = _Queue(limits.tokens, "long requests")
        self._in_tokenizer = 0

    def __len__(self) -> int:
        """Returns the number of requests that wait."""
        return len(self._short) + len(self._long) + self._in_tokenizer

    @property
    def num_batches(self) -> int:
        """Returns the number of batches that have been computed."""
        return self._short.num_batches + self._long.num_batches

    async def predict(
        self,
        model: ServedModel,
        signature: ServedSignature,
        inputs: Arrays,
        output_filter: Sequence[str] | None = None,
    ) -> Arrays:
        """Computes the named outputs of a signature, or all of them."""
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
        if sentences > self._limits.sentences:
            rule = f"A request may have {self._limits.sentences:,} sentences"
            raise invalid(rule, f"{sentences:,}")
        check_padding(inputs)
        with model.in_use():
            longest = await self._longest(signature, inputs, sentences)
            request = Request(signature, inputs, outputs, sentences, longest)
            return await asyncio.wrap_future(self.submit(request))

    async def _longest(
        self, signature: ServedSignature, inputs: Arrays, sentences: int
    ) -> int:
        """Returns the tokens of the longest sentence, or an upper bound within limits.

        A sentence counts as at least one token, because it has boundaries, and as one
        per 48 bytes, because the tokenizer reads them all.
        """
        if signature.token_argument is not None:
            longest = max(x.shape[1] for x in inputs.values() if x.ndim == 2)
            self._check_tokens(sentences, longest)
            return max(1, longest)
        strings = [text for texts in inputs.values() for text in texts]
        num_bytes = max(map(len, strings), default=0)
        least = max(1, -(-num_bytes // MAX_BYTES))
        self._check_tokens(sentences, least, f", or text of {MAX_BYTES} bytes for each")
        # Some steps take quadratic time for a word, such as ordering its accents.
        if num_bytes > _WORD_BYTES:
            word = max(len(word) for text in strings for word in text.split())
            if word > _WORD_BYTES:
                raise invalid(
                    f"A word may have {_WORD_BYTES:,} bytes; words have spaces between "
                    "them",
                    f"a word of {word:,} bytes",
                )
        # A string has at most as many tokens as bytes. Otherwise the tokenizer counts.
        if sentences * num_bytes <= min(self._limits.tokens, PART_TOKENS):
            return max(1, num_bytes)
        self._limits.check_waiting(len(self))
        self._in_tokenizer += 1
        try:
            longest = await asyncio.to_thread(_count_longest, signature, inputs)
        finally:
            self._in_tokenizer -= 1
        self._check_tokens(sentences, longest)
        return max(least, longest)

    def _check_tokens(self, sentences: int, longest: int, rule: str = "") -> None:
        limit = self._limits.tokens
        if sentences * longest > limit:
            raise invalid(
                f"A request may have {limit:,} tokens{rule}, padding included",
                f"{sentences:,} sentences, the longest of {longest:,} tokens",
            )

    def submit(self, request: Request) -> "Future[Arrays]":
        """Queues a request, which is dropped if its future is cancelled."""
        self._limits.check_waiting(len(self))
        return (self._long if request.is_long else self._short).submit(request)

    def close(self) -> None:
        """Computes the waiting requests and stops."""
        self._short.close()
        self._long.close()


def _count_longest(signature: ServedSignature, inputs: Arrays) -> int:
    # Pairs return the lengths of their first text, so each text takes its place.
    texts = (dict.fromkeys(inputs, strings) for strings in inputs.values())
    return max(int(signature(text, [LENGTHS])[LENGTHS].max()) for text in texts)


class _Queue:
    """Requests that wait, and the thread that computes them in batches.

    Clients that were answered together come back one by one, and the first would be
    computed alone. So after a batch of several requests the thread waits until as many
    have arrived, but at most for 15 % of the time that the batch took.
    """

    def __init__(self, max_tokens: int, name: str) -> None:
        self._max_tokens = max_tokens
        self._waiting: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.num_batches = 0
        self._expected = 0
        self._max_wait = 0.0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        with self._changed:
            # The next batch drops the requests of clients that have left.
            return sum(not future.cancelled() for _, future in self._waiting)

    def submit(self, request: Request) -> "Future[Arrays]":
        future: Future[Arrays] = Future()
        with self._changed:
            if self._closed:
                raise ServingError(Code.UNAVAILABLE, "The server is shutting down")
            self._waiting.append((request, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._next_batch():
            metrics.BATCH_SENTENCES.observe(
                sum(request.sentences for request, _ in batch)
            )
            metrics.BATCH_REQUESTS.observe(len(batch))
            began = time.monotonic()
            self._compute(batch)
            self.num_batches += 1
            self._expected = len(batch)
            self._max_wait = _WAIT_SHARE * (time.monotonic() - began)

    def _next_batch(self) -> list[Waiting]:
        """Waits for requests; takes the first one and all that fit beside it."""
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
                    elif not future.cancelled():
                        batch.append((request, future))
                self._waiting = rest
                if batch:
                    return batch

    def _fits(self, request: Request, batch: list[Request]) -> bool:
        together = [*batch, request]
        sentences = sum(request.sentences for request in together)
        tokens = sentences * max(request.longest for request in together)
        signature = together[0].signature
        return not batch or (
            not request.is_long
            and request.signature is signature
            and signature.batchable
            and tokens <= self._max_tokens
        )

    def _compute(self, batch: list[Waiting]) -> None:
        request, future = batch[0]
        try:
            if len(batch) == 1:
                answers = [compute_in_parts(request, future.cancelled)]
            else:
                answers = compute([request for request, _ in batch])
        except Exception as error:
            if len(batch) > 1:
                # One by one, so that a bad request fails alone.
                for waiting in batch:
                    self._compute([waiting])
            elif future.set_running_or_notify_cancel():
                future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            # False if the client has left meanwhile.
            if future.set_running_or_notify_cancel():
                future.set_result(answer)
