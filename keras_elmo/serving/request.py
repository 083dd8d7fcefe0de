"""Requests of clients, computed alone, in parts, or with other requests."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import CancelledError
from typing import NamedTuple

import numpy as np

from keras_elmo.serving.signatures import LENGTHS, Arrays, ServedSignature

# A request with more tokens, padding included, is long. No part has more.
PART_TOKENS = 2_048


class Request(NamedTuple):
    """A request of one client.

    Attributes:
        signature: computes the outputs.
        inputs: arrays by their names.
        outputs: names of the outputs to return.
        sentences: number of sentences.
        longest: upper bound on the tokens of a sentence.
    """

    signature: ServedSignature
    inputs: Arrays
    outputs: Collection[str]
    sentences: int
    longest: int

    @property
    def is_long(self) -> bool:
        """Whether other requests would wait too long for this one."""
        return self.sentences * self.longest > PART_TOKENS

    def parts(self) -> "list[Request]":
        """Cuts a long request into parts of whole sentences."""
        if not (self.is_long and self.signature.batchable):
            return [self]
        size = max(1, PART_TOKENS // self.longest)
        return [
            self._replace(
                inputs={name: x[k : k + size] for name, x in self.inputs.items()},
                sentences=min(size, self.sentences - k),
            )
            for k in range(0, self.sentences, size)
        ]


def compute(requests: Sequence[Request]) -> list[Arrays]:
    """Computes requests of one signature, each padded as if it were alone."""
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
        answer = {}
        for name in request.outputs:
            part = outputs[name][rows]
            if name in signature.token_outputs:
                part = part[:, :longest]
            answer[name] = np.ascontiguousarray(part)
        answers.append(answer)
    return answers


def compute_in_parts(request: Request, is_cancelled: Callable[[], bool]) -> Arrays:
    """Computes one request; a long one takes no more memory at a time than a part."""
    answers = []
    for part in request.parts():
        if is_cancelled():
            raise CancelledError
        answers += compute([part])
    if len(answers) == 1:
        return answers[0]
    return {
        name: _concatenate([answer[name] for answer in answers])
        for name in request.outputs
    }


def _concatenate(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Joins arrays along the first axis; tokens are padded to the longest row."""
    first = arrays[0]
    if first.ndim == 1:
        return np.concatenate(arrays)
    longest = max(array.shape[1] for array in arrays)
    shape = (sum(map(len, arrays)), longest, *first.shape[2:])
    joined = np.full(shape, b"" if first.dtype.kind == "O" else 0, first.dtype)
    start = 0
    for array in arrays:
        joined[start : start + len(array), : array.shape[1]] = array
        start += len(array)
    return joined
