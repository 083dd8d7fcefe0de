"""A linear-chain conditional random field: its layer, its loss, and its decoder.

`CRF` writes all it knows into one tensor of log potentials, its mask too. So `CRFLoss`,
`crf_decode` and `crf_marginals` need no weights and no reference to the layer.
"""

from collections.abc import Sequence
from types import NoneType

import keras
import numpy as np
from keras import ops

from keras_elmo.layers.crf_paths import (
    check_per_token,
    check_potentials,
    crf_decode,
    is_real,
    score_path,
    sum_paths,
    time_first,
    with_mask,
)
from keras_elmo.utils.checks import check_at_least, check_type, refuse
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.tag_schemes import Transitions, allowed_transitions
from keras_elmo.utils.types import Config, Shape, Tensor

# A transition that the scheme of the tags forbids. All sums stay finite.
_FORBIDDEN = -1e4


@keras_class
class CRF(keras.layers.Layer):
    """Adds scores of transitions between tags to the scores of tags.

    `potentials[t, a, b] = transitions[a, b] + scores[t, b]`, with `start_scores` at
    the first token and `end_scores` at the last one of a sequence.

    Computes in float32, whatever the dtype policy is.

    Args:
        num_tags: number of tags, at least 2.
        tags: names of the tags, such as `["O", "B-PER", "I-PER"]`. Names of BIO (I only
            after B or I of its type) or BIOES (B, I and E, or S alone) make the
            transitions impossible that the scheme forbids. By default, and for other
            names, any tag may follow any other, and what does is learned.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        scores: `(batch, tokens, num_tags)` tensor, such as logits of a Dense layer.
        mask: `(batch, tokens)` booleans.

    Returns:
        `(batch, tokens, num_tags, num_tags)` float32 log potentials. The last two axes
        are the tag before and the tag itself.

    Masking: written into the potentials, where `CRFLoss`, `CRFDecode`, `crf_decode` and
    `crf_marginals` read it. The result has no Keras mask, because a loss per sequence
    has no tokens to mask; the result of `CRFDecode` has.

    Raises:
        ValueError: the scores, or `tags`, have another number of tags.

    Example:

    ```python
    words = keras.Input((None, 8))
    tags = ["O", "B-PER", "I-PER"]
    scores = keras.layers.Dense(3)(words)
    potentials = keras_elmo.CRF(3, tags)(scores)
    model = keras.Model(words, potentials)
    model.compile("adam", keras_elmo.CRFLoss())
    model.fit(np.random.normal(size=(4, 5, 8)), np.zeros((4, 5)), verbose=0)
    tagger = keras.Model(words, keras_elmo.CRFDecode()(potentials))
    assert tagger(np.zeros((2, 7, 8))).shape == (2, 7)
    ```

    Reference: Lample et al. 2016, Neural Architectures for Named Entity Recognition,
    section 2.2.
    """

    # No policy of 16 bits reaches the scores.
    input_dtype = "float32"

    def __init__(
        self, num_tags: int, tags: Sequence[str] | None = None, **kwargs: object
    ) -> None:
        super().__init__(**kwargs)
        check_at_least(2, num_tags=num_tags)
        self.num_tags = num_tags
        self.tags = None if tags is None else _names(tags, num_tags)
        self.supports_masking = True
        # Numbers are names of no scheme.
        allowed = allowed_transitions(self.tags or [*map(str, range(num_tags))])
        self.forbidden = Transitions(
            *(np.where(x, 0.0, _FORBIDDEN).astype("float32") for x in allowed)
        )

    def build(self, scores_shape: Shape) -> None:
        if scores_shape[-1] != self.num_tags:
            raise ValueError(
                f"`scores` must have {self.num_tags} tags on the last axis. "
                f"Received: scores.shape={tuple(scores_shape)}"
            )
        self.transitions, self.start_scores, self.end_scores = (
            self.add_weight(
                name=name,
                shape=shape,
                initializer="glorot_uniform",
                dtype="float32",
                autocast=False,
            )
            for name, shape in (
                ("transitions", (self.num_tags, self.num_tags)),
                ("start_scores", (self.num_tags,)),
                ("end_scores", (self.num_tags,)),
            )
        )

    def call(self, scores: Tensor, mask: Tensor = None) -> Tensor:
        if mask is None:
            mask = ops.ones(ops.shape(scores)[:2], dtype="bool")
        mask = ops.cast(mask, "bool")
        is_first = ops.expand_dims(_is_first(mask), -1)
        is_last = ops.expand_dims(ops.flip(_is_first(ops.flip(mask, 1)), 1), -1)
        start = self.start_scores + self.forbidden.start
        end = self.end_scores + self.forbidden.end
        scores = scores + ops.where(is_first, start, 0.0) + ops.where(is_last, end, 0.0)
        transitions = ops.where(
            ops.expand_dims(is_first, -1),
            0.0,
            self.transitions + self.forbidden.between,
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


@keras_class
class CRFLoss(keras.losses.Loss):
    """Negative log-likelihood of paths of tags under the potentials of a `CRF`.

    `loss = log(sum over all paths of exp(score)) - score of the given path`.

    Args:
        reduction: as for every Keras loss; by default the mean over sequences.
        name: name of the loss.

    Call arguments:
        y_true: `(batch, tokens)` indices of tags; anything at masked tokens.
        y_pred: `(batch, tokens, tags, tags)` log potentials.

    Returns:
        One loss per sequence, reduced. It is 0 for a sequence without tokens, and NaN
        for one with an index that is no tag.

    Raises:
        ValueError: the potentials or the indices have another shape.

    Example:

    ```python
    loss = keras_elmo.CRFLoss()
    # Two tokens have four paths of two tags, here all alike.
    np.testing.assert_allclose(loss([[0, 1]], np.zeros((1, 2, 2, 2))), np.log(4), 1e-6)
    ```

    Reference: Lafferty et al. 2001, Conditional Random Fields.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "crf_loss",
    ) -> None:
        check_type((str, NoneType), "text or None", name=name)
        # Whatever the policy is: indices of tags are not exact in 16 bits.
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        # Keras has converted each number of a list alone.
        y_true = ops.convert_to_tensor(y_true)
        check_potentials(y_pred, "y_pred")
        check_per_token(y_true, y_pred, "y_true", "indices of tags")
        real = is_real(y_pred)
        num_tags = y_pred.shape[-1]
        is_tag = ops.logical_and(y_true >= 0, y_true < num_tags)
        tags = ops.cast(ops.where(ops.logical_and(real, is_tag), y_true, -1), "int32")
        steps = time_first(y_pred)
        losses = sum_paths(steps) - score_path(steps, time_first(tags))
        valid = ops.all(ops.logical_or(is_tag, ops.logical_not(real)), axis=1)
        return ops.where(valid, losses, float("nan"))

    def get_config(self) -> Config:
        return {"reduction": self.reduction, "name": self.name}


@keras_class
class CRFDecode(keras.layers.Layer):
    """Finds the best path of tags: `crf_decode` as a layer.

    Args:
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        potentials: `(batch, tokens, tags, tags)` log potentials of a `CRF`.

    Returns:
        `(batch, tokens)` int32 tags, 0 at masked tokens.

    Masking: creates the mask `(batch, tokens)` that the `CRF` was given.

    Raises:
        ValueError: the potentials have another shape.

    Example:

    ```python
    potentials = keras_elmo.CRF(4)(np.zeros((2, 3, 4)))
    assert keras_elmo.CRFDecode()(potentials).shape == (2, 3)
    ```
    """

    input_dtype = "float32"

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, potentials: Tensor) -> Tensor:
        tags, _ = crf_decode(potentials)
        return tags

    def compute_mask(self, potentials: Tensor, previous_mask: Tensor = None) -> Tensor:
        return is_real(potentials)

    def compute_output_spec(self, potentials: Tensor) -> keras.KerasTensor:
        check_potentials(potentials)
        return keras.KerasTensor(potentials.shape[:2], "int32")


def _is_first(mask: Tensor) -> Tensor:
    """Whether a token is the first one of its sequence that is not masked."""
    return ops.logical_and(mask, ops.cumsum(ops.cast(mask, "int32"), axis=1) == 1)


def _names(tags: Sequence[str], num_tags: int) -> list[str]:
    check_type(Sequence, "a list of names", tags=tags)
    names = [tag for tag in tags if isinstance(tag, str)]
    if isinstance(tags, str) or len({*names}) != len(tags) or len(tags) != num_tags:
        refuse("tags", f"{num_tags} distinct names, as `num_tags` says", tags)
    return names
