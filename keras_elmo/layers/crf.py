"""Linear-chain conditional random fields: scores of tags to the best path of tags.

`CRF` writes all it knows into one tensor of log potentials `(batch, tokens, tags,
tags)`: the score of each tag after each other one. A path's score is the sum of its
potentials, and a path's probability their exponential over that of all paths. So
`CRFLoss`, `crf_decode` and `crf_marginals` need no weights, no mask and no reference
to the layer.

Two rules make that possible. The potentials of a sequence's first token are the same
after every tag, as there is none before it. A masked token keeps the tag before it:
every other one has a potential that no sum of scores reaches.

References:
    Lafferty et al. 2001, Conditional Random Fields.
    Lample et al. 2016, Neural Architectures for Named Entity Recognition, section 2.2.
"""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.utils.checks import check_at_least, refuse
from keras_elmo.utils.types import Config, Shape, Tensor

# Of a transition that the scheme of the tags forbids. All sums stay finite.
_FORBIDDEN = -1e4
# Of another tag at a masked token: far below any path of forbidden transitions.
_MASKED = -1e9
_SCHEMES = {"BIO": "BI", "BIOES": "BIES"}


@keras.saving.register_keras_serializable("keras_elmo")
class CRF(keras.layers.Layer):
    """Adds scores of transitions to scores of tags.

    Computes in float32 whatever the dtype policy is.

    Args:
        num_tags: number of tags, 2 at least.
        tags: their names, such as `["O", "B-PER", "I-PER"]`. Needed by `scheme`.
        scheme: `"BIO"` (I only after B or I of its type) or `"BIOES"` (B, I and E, or
            S alone) makes transitions against the scheme impossible. If `None`, what
            may follow what is learned.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        scores: `(batch, tokens, num_tags)` tensor, such as logits of a Dense layer.
        mask: `(batch, tokens)` booleans.

    Returns:
        `(batch, tokens, num_tags, num_tags)` float32 log potentials; the axes of tags
        are the tag before and the tag itself.

    Masking: written into the potentials, which `CRFLoss`, `crf_decode` and
    `crf_marginals` read it from. Not passed on: a loss for each sequence has no tokens
    to mask.

    Raises:
        ValueError: the scores have another number of tags, a tag does not follow the
            scheme, or there are not `num_tags` of them.

    Example:

    ```python
    words = keras.Input((None, 8))
    tags = ["O", "B-PER", "I-PER"]
    scores = keras.layers.Dense(3)(words)
    potentials = keras_elmo.CRF(3, tags, scheme="BIO")(scores)
    model = keras.Model(words, potentials)
    model.compile("adam", keras_elmo.CRFLoss())
    model.fit(np.random.normal(size=(4, 5, 8)), np.zeros((4, 5)), verbose=0)
    tagger = keras.Model(words, keras_elmo.CRFDecode()(potentials))
    assert tagger(np.zeros((2, 7, 8))).shape == (2, 7)
    ```
    """

    def __init__(
        self,
        num_tags: int,
        tags: Sequence[str] | None = None,
        scheme: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        check_at_least(2, num_tags=num_tags)
        if scheme is not None and scheme not in _SCHEMES:
            refuse("scheme", f"one of {', '.join(_SCHEMES)}, or None", scheme)
        if tags is not None and len(tags) != num_tags:
            refuse("tags", f"{num_tags} names, as `num_tags` says", list(tags))
        if scheme is not None and tags is None:
            raise ValueError(
                f"`scheme` needs the names of the tags. Received: scheme={scheme!r}, "
                "tags=None"
            )
        self.num_tags = num_tags
        self.tags = None if tags is None else list(tags)
        self.scheme = scheme
        self.supports_masking = True
        # With O before the first token and after the last one.
        allowed = np.ones((num_tags + 1, num_tags + 1), "bool")
        if self.tags is not None and scheme is not None:
            allowed = allowed_transitions([*self.tags, "O"], scheme)
        self._forbidden = np.where(allowed, 0.0, _FORBIDDEN).astype("float32")

    def build(self, scores_shape: Shape) -> None:
        if scores_shape[-1] != self.num_tags:
            raise ValueError(
                f"`scores` must have {self.num_tags} tags on the last axis. "
                f"Received: shape={tuple(scores_shape)}"
            )
        self.transitions, self.start_scores, self.end_scores = (
            self.add_weight(
                name=name, shape=shape, initializer="glorot_uniform", dtype="float32"
            )
            for name, shape in (
                ("transitions", (self.num_tags, self.num_tags)),
                ("start_scores", (self.num_tags,)),
                ("end_scores", (self.num_tags,)),
            )
        )

    def call(self, scores: Tensor, mask: Tensor = None) -> Tensor:
        scores = ops.cast(scores, "float32")
        if mask is None:
            mask = ops.ones(ops.shape(scores)[:2], dtype="bool")
        mask = ops.cast(mask, "bool")
        is_first = ops.expand_dims(_is_first(mask), -1)
        is_last = ops.expand_dims(ops.flip(_is_first(ops.flip(mask, 1)), 1), -1)
        start = self.start_scores + self._forbidden[-1, :-1]
        end = self.end_scores + self._forbidden[:-1, -1]
        scores = scores + ops.where(is_first, start, 0.0) + ops.where(is_last, end, 0.0)
        transitions = ops.where(
            ops.expand_dims(is_first, -1),
            0.0,
            self.transitions + self._forbidden[:-1, :-1],
        )
        return with_mask(ops.expand_dims(scores, 2) + transitions, mask)

    def compute_mask(self, scores: Tensor, previous_mask: Tensor = None) -> None:
        return None

    def compute_output_shape(self, scores_shape: Shape) -> Shape:
        return (*scores_shape, self.num_tags)

    def compute_output_spec(
        self, scores: Tensor, mask: Tensor = None
    ) -> keras.KerasTensor:
        return keras.KerasTensor(self.compute_output_shape(scores.shape), "float32")

    def get_config(self) -> Config:
        return {
            **super().get_config(),
            "num_tags": self.num_tags,
            "tags": self.tags,
            "scheme": self.scheme,
        }


def allowed_transitions(tags: Sequence[str], scheme: str) -> np.ndarray:
    """Returns which tag may follow which.

    Args:
        tags: `"O"`, or a letter of the scheme, a hyphen and a type.
        scheme: `"BIO"` or `"BIOES"`.

    Returns:
        `(tags, tags)` booleans; the axes are the tag before and the tag itself.

    Raises:
        ValueError: a tag does not follow the scheme.
    """
    parts = []
    for tag in tags:
        letter, hyphen, kind = tag.partition("-")
        if tag != "O" and not (hyphen and kind and letter in _SCHEMES[scheme]):
            raise ValueError(
                f"`tags` must be O, or a letter of {scheme}, a hyphen and a type. "
                f"Received: the tag {tag!r}"
            )
        parts.append((letter, kind))

    def may_follow(before: tuple[str, str], tag: tuple[str, str]) -> bool:
        is_open = before[0] in ("B", "I")
        if tag[0] in ("I", "E"):
            return is_open and before[1] == tag[1]
        # Only E closes a span of BIOES.
        return not is_open or scheme == "BIO"

    return np.array([[may_follow(before, tag) for tag in parts] for before in parts])


@keras.saving.register_keras_serializable("keras_elmo")
class CRFLoss(keras.losses.Loss):
    """Negative log-likelihood of paths of tags under the potentials of a `CRF`.

    Args:
        reduction: as of any Keras loss; the mean over sequences by default.
        name: name of the loss.

    Call arguments:
        y_true: `(batch, tokens)` indices of tags; anything at masked tokens.
        y_pred: `(batch, tokens, tags, tags)` log potentials.

    Returns:
        A loss for each sequence, reduced; 0 for a sequence without tokens.

    Example:

    ```python
    loss = keras_elmo.CRFLoss()
    # Four paths of two tags, all alike.
    np.testing.assert_allclose(loss([[0, 1]], np.zeros((1, 2, 2, 2))), np.log(4), 1e-6)
    ```
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str = "crf_loss",
        **kwargs: Any,
    ) -> None:
        # Indices of tags are not exact in 16 bits.
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        tags = ops.where(is_real(y_pred), ops.cast(y_true, "int32"), -1)
        steps = _time_first(y_pred)
        log_sum, _ = _sum_paths(steps)
        return log_sum - _score_path(steps, _time_first(tags))

    def get_config(self) -> Config:
        return {"reduction": self.reduction, "name": self.name}


def crf_decode(potentials: Tensor, mask: Tensor = None) -> tuple[Tensor, Tensor]:
    """Finds the best path of tags (Viterbi).

    Args:
        potentials: `(batch, tokens, tags, tags)` log potentials.
        mask: `(batch, tokens)` booleans, of potentials that are not of a `CRF` layer,
            which writes its mask into them.

    Returns:
        `(batch, tokens)` int32 tags, 0 at masked tokens; and the `(batch,)` scores of
        these paths.

    Example:

    ```python
    potentials = np.zeros((1, 3, 2, 2), "float32")
    potentials[:, :, 0, 1] = potentials[:, :, 1, 0] = 1.0
    tags, scores = keras_elmo.crf_decode(potentials)
    assert abs(np.diff(tags)).tolist() == [[1, 1]] and scores == 3.0
    ```
    """
    potentials = with_mask(ops.convert_to_tensor(potentials), mask)
    steps = _time_first(potentials)

    def forwards(best: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        best = ops.max(ops.expand_dims(best, 2) + step, axis=1)
        return best, best

    def backwards(tag: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        tag = ops.take_along_axis(before, ops.expand_dims(tag, 1), axis=1)[:, 0]
        return tag, tag

    first = ops.zeros_like(steps[0, :, 0])
    last, best = ops.scan(forwards, first, steps)
    best = ops.concatenate([first[None], best[:-1]])
    # The best tag before each tag of the next step.
    before = ops.argmax(ops.expand_dims(best, 3) + steps, axis=2)
    before = ops.cast(before, "int32")
    tag = ops.cast(ops.argmax(last, axis=-1), "int32")
    _, tags = ops.scan(backwards, tag, before[1:], reverse=True)
    tags = ops.transpose(ops.concatenate([tags, tag[None]]))
    return ops.where(is_real(potentials), tags, 0), ops.max(last, axis=-1)


def crf_marginals(potentials: Tensor, mask: Tensor = None) -> Tensor:
    """Computes how probable each tag of each token is, over all paths.

    Args:
        potentials: `(batch, tokens, tags, tags)` log potentials.
        mask: `(batch, tokens)` booleans, of potentials that are not of a `CRF` layer,
            which writes its mask into them.

    Returns:
        `(batch, tokens, tags)` probabilities, 0 at masked tokens.

    Example:

    ```python
    marginals = keras_elmo.crf_marginals(np.zeros((1, 3, 2, 2), "float32"))
    np.testing.assert_allclose(marginals, np.full((1, 3, 2), 0.5))
    ```
    """
    potentials = with_mask(ops.convert_to_tensor(potentials), mask)
    steps = _time_first(potentials)

    def backwards(after: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        after = ops.logsumexp(ops.expand_dims(after, 1) + step, axis=2)
        return after, after

    _, until = _sum_paths(steps)
    last = ops.zeros_like(until[0])
    _, after = ops.scan(backwards, last, steps[1:], reverse=True)
    after = ops.concatenate([after, last[None]])
    marginals = ops.transpose(ops.softmax(until + after), (1, 0, 2))
    return ops.where(ops.expand_dims(is_real(potentials), -1), marginals, 0.0)


@keras.saving.register_keras_serializable("keras_elmo")
class CRFDecode(keras.layers.Layer):
    """The best path of tags, as a layer: see `crf_decode`.

    Call arguments:
        potentials: `(batch, tokens, tags, tags)` log potentials of a `CRF`.

    Returns:
        `(batch, tokens)` int32 tags, 0 at masked tokens.

    Masking: that of the potentials, passed on.

    Example:

    ```python
    assert keras_elmo.CRFDecode()(np.zeros((2, 3, 4, 4))).shape == (2, 3)
    ```
    """

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, potentials: Tensor) -> Tensor:
        tags, _ = crf_decode(potentials)
        return tags

    def compute_mask(self, potentials: Tensor, previous_mask: Tensor = None) -> Tensor:
        return is_real(potentials)

    def compute_output_spec(self, potentials: Tensor) -> keras.KerasTensor:
        return keras.KerasTensor(potentials.shape[:2], "int32")


def is_real(potentials: Tensor) -> Tensor:
    """Returns `(batch, tokens)` booleans: which tokens are not masked."""
    # From the first tag to the last one.
    return potentials[:, :, 0, -1] > _MASKED / 2


def with_mask(potentials: Tensor, mask: Tensor) -> Tensor:
    """Writes a mask into potentials: a masked token keeps the tag before it."""
    if mask is None:
        return potentials
    num_tags = potentials.shape[-1]
    keeps = _MASKED * (1.0 - np.eye(num_tags, dtype="float32"))
    return ops.where(ops.cast(mask, "bool")[:, :, None, None], potentials, keeps)


def _is_first(mask: Tensor) -> Tensor:
    """Whether a token is the first one of its sequence that is not masked."""
    return ops.logical_and(mask, ops.cumsum(ops.cast(mask, "int32"), axis=1) == 1)


def _sum_paths(steps: Tensor) -> tuple[Tensor, Tensor]:
    """Sums the exponential scores of paths (the forward algorithm).

    Args:
        steps: `(tokens, batch, tags, tags)` log potentials.

    Returns:
        `(batch,)` logarithms of the sums over all paths; `(tokens, batch, tags)` ones
        of the sums over all paths until a token that end in a tag.
    """

    def step(sums: Tensor, potentials: Tensor) -> tuple[Tensor, Tensor]:
        sums = ops.logsumexp(ops.expand_dims(sums, 2) + potentials, axis=1)
        return sums, sums

    # The sum over the tags before the first token is 1, as its potentials are alike.
    first = ops.zeros_like(steps[0, :, 0]) - np.float32(np.log(steps.shape[-1]))
    last, sums = ops.scan(step, first, steps)
    return ops.logsumexp(last, axis=-1), sums


def _score_path(steps: Tensor, tags: Tensor) -> Tensor:
    """Returns the `(batch,)` scores of paths.

    Args:
        steps: `(tokens, batch, tags, tags)` log potentials.
        tags: `(tokens, batch)` tags of the paths; -1 keeps the tag before it.
    """

    def step(before: Tensor, tag: Tensor) -> tuple[Tensor, Tensor]:
        tag = ops.where(tag < 0, before, tag)
        return tag, tag

    first = ops.zeros_like(tags[0])
    _, tags = ops.scan(step, first, tags)
    before = ops.concatenate([first[None], tags[:-1]])
    num_tags = steps.shape[-1]
    before = ops.expand_dims(ops.one_hot(before, num_tags, dtype=steps.dtype), -1)
    tags = ops.expand_dims(ops.one_hot(tags, num_tags, dtype=steps.dtype), -2)
    return ops.sum(before * tags * steps, axis=(0, 2, 3))


def _time_first(x: Tensor) -> Tensor:
    return ops.swapaxes(x, 0, 1)
