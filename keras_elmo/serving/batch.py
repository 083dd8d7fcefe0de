"""The requests of several clients as one call of the model, and apart again."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np

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
