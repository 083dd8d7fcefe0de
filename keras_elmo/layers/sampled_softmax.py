"""The output layer of a language model with a large vocabulary."""

import math
import random
from collections.abc import Callable, Iterator

import keras
import numpy as np
from keras import ops

from keras_elmo.utils.checks import check_at_least
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.large_variables import block_starts, fill, looked_up_rows
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import DType, Shape, Tensor

# Words whose logits are in memory at one time in the exact softmax.
_BLOCK_ROWS = 8192
# The logit of a word that does not take part.
_EXCLUDED = -1e9


@keras_class
class SampledSoftmax(keras.layers.Layer):
    """Negative log likelihood of target ids, by sampled softmax while training.

    Training: `-log softmax(h W^T + b - log Q)_target` over the target and
    `num_sampled` candidates. They are drawn without replacement from the log-uniform
    distribution `p(k) = log((k + 2) / (k + 1)) / log(vocabulary_size + 1)`, which
    suits ids sorted by falling frequency; `Q` is the probability of being drawn; a
    candidate that is the target is left out. Otherwise: the exact softmax.

    Args:
        vocabulary_size: number of target ids.
        num_sampled: candidates of a call. If it is at least `vocabulary_size`,
            training is exact, too.
        seed: of the initial weights and of the draws.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        hidden: `(..., units)` float tensor.
        targets: `(...)` integers below `vocabulary_size`.
        training: whether to sample.

    Returns:
        `(...)` float32 tensor, in nats.

    Raises:
        ValueError: a size is not positive, or the last axis of `hidden` is not known.

    Example:

    ```python
    softmax = keras_elmo.SampledSoftmax(vocabulary_size=100, num_sampled=10, seed=0)
    hidden = np.zeros((2, 3, 8), "float32")
    targets = np.ones((2, 3), "int32")
    # Exact: without any evidence all words are equally likely.
    losses = softmax(hidden, targets)
    np.testing.assert_allclose(losses, np.full((2, 3), np.log(100)), rtol=1e-4)
    # By sampling.
    assert softmax(hidden, targets, training=True).shape == (2, 3)
    ```

    Reference: Jean et al. 2015, On Using Very Large Target Vocabulary for Neural
    Machine Translation, section 3; for the draws by exponential clocks, Duffield et
    al. 2007, Priority sampling for estimation of arbitrary subset sums, section 2.
    """

    def __init__(
        self,
        vocabulary_size: int,
        num_sampled: int = 8192,
        seed: int | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        check_at_least(1, vocabulary_size=vocabulary_size, num_sampled=num_sampled)
        self.vocabulary_size = vocabulary_size
        self.num_sampled = num_sampled
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(
        self,
        hidden_shape: Shape,
        targets_shape: Shape | None = None,
    ) -> None:
        units = hidden_shape[-1]
        if units is None:
            raise ValueError(
                "`hidden` must have a known last axis. "
                f"Received: hidden.shape={hidden_shape}"
            )
        seed = random.randrange(1 << 32) if self.seed is None else self.seed
        initializer = _KernelInitializer((self.vocabulary_size, units), seed)
        self.kernel = self.add_weight(
            name="kernel",
            shape=initializer.shape,
            initializer=initializer,
            # What is multiplied is cast: a few rows, not all of them.
            autocast=False,
        )
        initializer.fill(self.kernel)
        # Added to float32 logits, whatever type computes them.
        self.bias = self.add_weight(
            name="bias",
            shape=(self.vocabulary_size,),
            initializer="zeros",
            dtype="float32",
            autocast=False,
        )

    def call(
        self, hidden: Tensor, targets: Tensor, training: bool | None = None
    ) -> Tensor:
        shape = ops.shape(targets)
        hidden = ops.reshape(hidden, (-1, hidden.shape[-1]))
        targets = ops.reshape(ops.cast(targets, "int32"), (-1,))
        if training and self.num_sampled < self.vocabulary_size:
            candidates, threshold = draw_candidates(
                self.vocabulary_size, self.num_sampled, self.seed_generator
            )
            loss = sampled_softmax_loss(
                hidden,
                targets,
                self.kernel,
                self.bias,
                candidates,
                probability_of_draw(targets, threshold, self.vocabulary_size),
                probability_of_draw(candidates, threshold, self.vocabulary_size),
            )
        else:
            loss = self._exact(hidden, targets)
        return ops.reshape(loss, shape)

    def _exact(self, hidden: Tensor, targets: Tensor) -> Tensor:
        rows = ops.cast(looked_up_rows(self.kernel, targets), hidden.dtype)
        target = ops.sum(hidden * rows, axis=-1)
        target = ops.cast(target, "float32") + ops.take(self.bias, targets, axis=0)
        block = min(_BLOCK_ROWS, self.vocabulary_size)

        def add_block(k: Tensor, partition: Tensor) -> Tensor:
            ids = k * block + ops.arange(block, dtype="int32")
            known = ops.minimum(ids, self.vocabulary_size - 1)
            rows = ops.cast(looked_up_rows(self.kernel, known), hidden.dtype)
            logits = ops.cast(ops.matmul(hidden, ops.transpose(rows)), "float32")
            logits = logits + ops.take(self.bias, known, axis=0)
            # The last block ends with the vocabulary.
            logits = ops.where(ids < self.vocabulary_size, logits, _EXCLUDED)
            return ops.logaddexp(partition, ops.logsumexp(logits, axis=-1))

        if keras.backend.backend() != "tensorflow":
            # Else gradients would need the logits of all blocks at one time.
            # (TensorFlow's `recompute_grad` does not see variables of a loop.)
            add_block = keras.remat(add_block)
        partition = ops.full_like(target, _EXCLUDED)
        # A loop, so that the logits of one block exist at a time.
        num_blocks = -(-self.vocabulary_size // block)
        return _loop(num_blocks, add_block, partition) - target

    def compute_output_shape(
        self,
        hidden_shape: Shape,
        targets_shape: Shape | None = None,
    ) -> Shape:
        return tuple(hidden_shape[:-1])


def _loop(
    times: int, body: Callable[[Tensor, Tensor], Tensor], value: Tensor
) -> Tensor:
    """Does what `ops.fori_loop` does, which XLA cannot differentiate on TensorFlow."""
    if keras.backend.backend() != "tensorflow":
        return ops.fori_loop(0, times, body, value)
    _, value = tf.while_loop(
        lambda k, value: k < times,
        lambda k, value: (k + 1, body(k, value)),
        (tf.constant(0), value),
        maximum_iterations=times,
    )
    return value


class _KernelInitializer:
    """Normal numbers, as published, without a second copy of a large kernel in memory.

    Keras calls it while the variable is made: it then returns zeros, which `fill`
    replaces block by block. While Keras traces, it calls later and gets the numbers.
    """

    def __init__(self, shape: tuple[int, int], seed: int) -> None:
        self.shape = shape
        self._seed = seed
        self._called = self._filled = False

    def __call__(self, shape: tuple[int, int], dtype: DType = None) -> Tensor:
        if self._filled:
            return ops.convert_to_tensor(np.concatenate(list(self._blocks())), dtype)
        self._called = True
        return ops.zeros(shape, dtype)

    def fill(self, kernel: Tensor) -> None:
        self._filled = True
        if self._called:
            fill(kernel, self._blocks())

    def _blocks(self) -> Iterator[np.ndarray]:
        generator = np.random.default_rng(self._seed)
        rows, units = self.shape
        starts = block_starts(self.shape, itemsize=4)
        for start in starts:
            block = (min(starts.step, rows - start), units)
            normal = generator.standard_normal(block, dtype="float32")
            yield 1 / math.sqrt(units) * normal


def draw_candidates(
    vocabulary_size: int, num_sampled: int, seed: int | keras.random.SeedGenerator
) -> tuple[Tensor, Tensor]:
    """Draws distinct ids from the log-uniform distribution.

    Every id has an exponential clock of rate `p(id)`; the first `num_sampled` to ring
    are drawn. That is drawing one by one without replacement, on any backend, and a
    checkpoint of the Keras seed repeats it. Returns `(num_sampled,)` int32 ids, and the
    time at which the next clock rings.
    """
    ids = ops.arange(vocabulary_size, dtype="int32")
    uniform = keras.random.uniform((vocabulary_size,), minval=1e-7, seed=seed)
    clocks = -ops.log(uniform) / _log_uniform(ids, vocabulary_size)
    earliest, candidates = ops.top_k(-clocks, num_sampled + 1)
    return ops.cast(candidates[:-1], "int32"), -earliest[-1]


def probability_of_draw(ids: Tensor, threshold: Tensor, vocabulary_size: int) -> Tensor:
    """Returns the probability that the clock of each id rings before `threshold`."""
    return -ops.expm1(-_log_uniform(ids, vocabulary_size) * threshold)


def _log_uniform(ids: Tensor, vocabulary_size: int) -> Tensor:
    ids = ops.cast(ids, "float32")
    return ops.log1p(1 / (ids + 1)) / math.log(vocabulary_size + 1)


def sampled_softmax_loss(
    hidden: Tensor,
    targets: Tensor,
    kernel: Tensor,
    bias: Tensor,
    candidates: Tensor,
    target_expected: Tensor,
    candidate_expected: Tensor,
) -> Tensor:
    """Returns `(positions,)` float32 losses of the targets among given candidates.

    `hidden` is `(positions, units)`, `kernel` `(vocabulary, units)`. What is expected
    is the number of each target, and of each candidate, among the candidates.
    """
    positions = ops.shape(targets)[0]
    # One gather of both, so that a row has one gradient.
    ids = ops.concatenate([targets, candidates], axis=0)
    rows = ops.cast(looked_up_rows(kernel, ids), hidden.dtype)
    offsets = ops.take(bias, ids, axis=0) - ops.log(
        ops.concatenate([target_expected, candidate_expected], axis=0)
    )
    target = ops.sum(hidden * rows[:positions], axis=-1)
    target = ops.cast(target, "float32") + offsets[:positions]
    rivals = ops.matmul(hidden, ops.transpose(rows[positions:]))
    rivals = ops.cast(rivals, "float32") + offsets[positions:]
    hits = ops.equal(targets[:, None], candidates[None, :])
    rivals = ops.where(hits, _EXCLUDED, rivals)
    return ops.logaddexp(target, ops.logsumexp(rivals, axis=-1)) - target
