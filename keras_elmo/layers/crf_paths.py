"""Sums and maxima over all paths of tags, from one tensor of log potentials.

The tensor `(batch, tokens, tags, tags)` scores each tag after each tag. A path's score
is the sum of its potentials; its probability is the exponential of the score, divided
by the sum over all paths. Two rules make the tensor enough:

- A sequence's first token has the same potentials after every tag, as no tag is before
  it.
- A masked token keeps the tag before it: every other tag has a potential that no sum
  of scores reaches.
"""

import numpy as np
from keras import ops

from keras_elmo.layers.exported_scan import scan
from keras_elmo.utils.types import Tensor

# Another tag at a masked token: far below any path of forbidden transitions.
_MASKED = -1e9


def crf_decode(potentials: Tensor, mask: Tensor = None) -> tuple[Tensor, Tensor]:
    """Finds the best path of tags (Viterbi).

    Args:
        potentials: `(batch, tokens, tags, tags)` log potentials.
        mask: `(batch, tokens)` booleans. A `CRF` writes its mask into the potentials;
            those from elsewhere need it here.

    Returns:
        `(batch, tokens)` int32 tags, 0 at masked tokens, and the `(batch,)` scores of
        these paths.

    Raises:
        ValueError: the potentials or the mask have another shape.

    Example:

    ```python
    potentials = np.zeros((1, 3, 2, 2), "float32")
    potentials[:, :, 0, 1] = potentials[:, :, 1, 0] = 1.0
    tags, scores = keras_elmo.crf_decode(potentials)
    assert abs(np.diff(tags)).tolist() == [[1, 1]] and scores == 3.0
    ```
    """
    potentials = _checked(potentials, mask)
    steps = time_first(potentials)

    def forwards(best: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        best = ops.max(ops.expand_dims(best, 2) + step, axis=1)
        return best, best

    def backwards(tag: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        tag = ops.take_along_axis(before, ops.expand_dims(tag, 1), axis=1)[:, 0]
        return tag, tag

    first = _start(steps)
    last, best = scan(forwards, first, steps)
    best = ops.concatenate([first[None], best])[:-1]
    # The best tag before each tag; the one before the first token is not needed.
    before = place_of_greatest(ops.expand_dims(best, 3) + steps, axis=2)
    tag = place_of_greatest(last, axis=-1)
    _, tags = scan(backwards, tag, before, reverse=True)
    tags = ops.transpose(ops.concatenate([tags, tag[None]])[1:])
    return ops.where(is_real(potentials), tags, 0), ops.max(last, axis=-1)


def crf_marginals(potentials: Tensor, mask: Tensor = None) -> Tensor:
    """Computes the probability of each tag at each token, over all paths.

    Args:
        potentials: `(batch, tokens, tags, tags)` log potentials.
        mask: `(batch, tokens)` booleans. A `CRF` writes its mask into the potentials;
            those from elsewhere need it here.

    Returns:
        `(batch, tokens, tags)` probabilities, 0 at masked tokens.

    Raises:
        ValueError: the potentials or the mask have another shape.

    Example:

    ```python
    marginals = keras_elmo.crf_marginals(np.zeros((1, 3, 2, 2), "float32"))
    np.testing.assert_allclose(marginals, np.full((1, 3, 2), 0.5))
    ```
    """
    potentials = _checked(potentials, mask)
    _, pairs = _forward_backward(time_first(potentials))
    marginals = ops.transpose(ops.sum(pairs, axis=2), (1, 0, 2))
    return ops.where(ops.expand_dims(is_real(potentials), -1), marginals, 0.0)


def is_real(potentials: Tensor) -> Tensor:
    """Returns `(batch, tokens)` booleans: which tokens are not masked."""
    # From the first tag to the last one.
    return potentials[:, :, 0, -1] > _MASKED / 2


def place_of_greatest(x: Tensor, axis: int) -> Tensor:
    """Does what `keras.ops.argmax` does, in operators that LiteRT has."""
    # With the initial value, an axis elsewhere may be empty.
    greatest = ops.max(x, axis=axis, keepdims=True, initial=-np.inf)
    is_greatest = x >= greatest
    return ops.cast(ops.argmax(ops.cast(is_greatest, "int32"), axis=axis), "int32")


def with_mask(potentials: Tensor, mask: Tensor) -> Tensor:
    """Writes a mask into potentials: a masked token keeps the tag before it."""
    if mask is None:
        return potentials
    num_tags = potentials.shape[-1]
    keeps = _MASKED * (1.0 - np.eye(num_tags, dtype="float32"))
    mask = ops.expand_dims(ops.cast(mask, "bool"), (2, 3))
    return ops.where(mask, potentials, ops.cast(keeps, potentials.dtype))


def check_potentials(potentials: Tensor, name: str = "potentials") -> None:
    """Raises a `ValueError` unless the axes suit log potentials."""
    shape = tuple(getattr(potentials, "shape", ()))
    if len(shape) != 4 or None in shape[2:] or shape[2] != shape[3] or shape[2] < 2:
        raise ValueError(
            f"`{name}` must be log potentials (batch, tokens, tags, tags), such as "
            f"the result of a CRF. {_received(name, potentials)}"
        )


def check_per_token(value: Tensor, potentials: Tensor, name: str, rule: str) -> None:
    """Raises a `ValueError` unless a value has the axes `(batch, tokens)`."""
    shape = tuple(getattr(value, "shape", ()))
    sizes = zip(shape, tuple(potentials.shape)[:2], strict=False)
    if len(shape) != 2 or any(a != b for a, b in sizes if None not in (a, b)):
        raise ValueError(
            f"`{name}` must be {rule} (batch, tokens), for potentials of shape "
            f"{tuple(potentials.shape)}. {_received(name, value)}"
        )


def _received(name: str, value: Tensor) -> str:
    shape = getattr(value, "shape", None)
    if shape is None:
        return f"Received: {name}={value!r}"
    return f"Received: {name}.shape={tuple(shape)}"


def _checked(potentials: Tensor, mask: Tensor) -> Tensor:
    """Returns potentials with the mask in them, once the axes of both are right."""
    if isinstance(potentials, list | tuple):
        potentials = np.array(potentials, "float32")
    check_potentials(potentials)
    if mask is not None:
        if isinstance(mask, list | tuple):
            mask = np.array(mask)
        check_per_token(mask, potentials, "mask", "booleans")
    return with_mask(ops.convert_to_tensor(potentials), mask)


def sum_paths(steps: Tensor) -> Tensor:
    """Returns the `(batch,)` logarithms of the summed exponential scores of all paths.

    Its gradient is the probability of each pair of tags. It is written down here, as
    XLA has none for the loops of TensorFlow.
    """
    log_sum, pairs = _forward_backward(ops.stop_gradient(steps))
    zero = steps - ops.stop_gradient(steps)
    return log_sum + ops.sum(pairs * zero, axis=(0, 2, 3))


def _forward_backward(steps: Tensor) -> tuple[Tensor, Tensor]:
    """Returns `(batch,)` logarithms of the sums over all paths, and probabilities.

    The probabilities are `(tokens, batch, tags, tags)`, as the potentials are.
    """

    def forwards(sums: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        sums = ops.logsumexp(ops.expand_dims(sums, 2) + step, axis=1)
        return sums, sums

    def backwards(sums: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        sums = ops.logsumexp(ops.expand_dims(sums, 1) + step, axis=2)
        return sums, sums

    num_tags = steps.shape[-1]
    zeros = _start(steps)
    # The sum over the tags before the first token is 1, as its potentials are alike.
    first = zeros - np.log(num_tags)
    last, until = scan(forwards, first, steps)
    _, after = scan(backwards, zeros, steps, reverse=True)
    until = ops.concatenate([first[None], until])[:-1]
    after = ops.concatenate([after, zeros[None]])[1:]
    pairs = ops.expand_dims(until, 3) + steps + ops.expand_dims(after, 2)
    probabilities = ops.softmax(ops.reshape(pairs, (-1, num_tags**2)))
    return ops.logsumexp(last, axis=-1), ops.reshape(probabilities, ops.shape(steps))


def score_path(steps: Tensor, tags: Tensor) -> Tensor:
    """Returns the `(batch,)` scores of paths `(tokens, batch)`.

    The tag -1 keeps the tag before it.
    """

    def step(before: Tensor, tag: Tensor) -> tuple[Tensor, Tensor]:
        tag = ops.where(tag < 0, before, tag)
        return tag, tag

    first = ops.zeros((ops.shape(steps)[1],), dtype="int32")
    _, tags = scan(step, first, tags)
    before = ops.concatenate([first[None], tags])[:-1]
    num_tags = steps.shape[-1]
    before = ops.expand_dims(ops.one_hot(before, num_tags, dtype=steps.dtype), -1)
    tags = ops.expand_dims(ops.one_hot(tags, num_tags, dtype=steps.dtype), -2)
    return ops.sum(before * tags * steps, axis=(0, 2, 3))


def time_first(x: Tensor) -> Tensor:
    """Swaps the axes of the batch and of the tokens."""
    return ops.swapaxes(x, 0, 1)


def _start(steps: Tensor) -> Tensor:
    """Returns `(batch, tags)` zeros, also if there are no tokens."""
    return ops.zeros((ops.shape(steps)[1], steps.shape[-1]), dtype=steps.dtype)
