"""The loss of a linear-chain conditional random field."""

from types import NoneType

import keras
from keras import ops

from keras_elmo.layers.crf_paths import (
    check_per_token,
    check_potentials,
    is_real,
    score_path,
    sum_paths,
    time_first,
)
from keras_elmo.utils.checks import check_type
from keras_elmo.utils.types import Config, Tensor


@keras.saving.register_keras_serializable("keras_elmo")
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
