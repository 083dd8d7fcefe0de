"""The base of the optimizers of pretraining."""

import abc
from collections.abc import Iterable
from typing import Any, ClassVar

import keras
from keras import ops

from keras_elmo.models.language_model_head import mean_over_replicas
from keras_elmo.utils.keras_private import Optimizer
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Config, Tensor


class ClippedOptimizer(Optimizer, abc.ABC):
    """Base of optimizers that clip the norm of all gradients together.

    Under a `tf.distribute` strategy, gradients are summed over the replicas before they
    are clipped, so an update equals one on a single device with the whole batch. (Keras
    clips the gradients of each replica.) On TensorFlow, rows of a softmax that a batch
    looks up have `tf.IndexedSlices` as gradients; the other rows are neither read nor
    written.

    To add an optimizer: subclass this class and one of Keras's optimizers, in this
    order; name its `defaults`, make its variables in `add_slots`, and update the rows
    of sparse gradients in `update_rows`; dense gradients go to the `update_step` of
    Keras's optimizer. Then add its name to `OPTIMIZERS` of optimizers.py, and its
    learning rate to `LEARNING_RATES` of training_options.py.

    Attributes:
        defaults: values of arguments that are left out.
        gradient_norm: variable, norm of the loss's gradients before clipping.
        loss_factor: factor of the loss, before gradients are taken.
    """

    defaults: ClassVar[Config]
    loss_factor = 1.0

    def __init__(self, learning_rate: object = None, **kwargs: Any) -> None:
        kwargs = {**self.defaults, **kwargs}
        if learning_rate is not None:
            kwargs["learning_rate"] = learning_rate
        # Keras would clip by its own `global_clipnorm` before the replicas are summed.
        max_norm: float | None = kwargs.pop("global_clipnorm")
        super().__init__(**kwargs)
        self._max_norm = max_norm

    def build(self, variables: list[keras.Variable]) -> None:
        if self.built:
            return
        keras.optimizers.Optimizer.build(self, variables)
        self.add_slots(variables)
        self.gradient_norm = self.add_variable(
            shape=(),
            name="gradient_norm",
            dtype="float32",
            aggregation="only_first_replica",
        )

    @abc.abstractmethod
    def add_slots(self, variables: list[keras.Variable]) -> None:
        """Calls `set_slots` with what Keras's optimizer keeps for each weight."""

    @abc.abstractmethod
    def update_rows(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        """Updates the rows of a `tf.IndexedSlices` without repeated rows."""

    def scale_loss(self, loss: Tensor) -> Tensor:
        return super().scale_loss(loss * self.loss_factor)

    def apply(
        self,
        grads: Iterable[Tensor | None],
        trainable_variables: list[keras.Variable] | None = None,
    ) -> None:
        if keras.backend.backend() == "tensorflow":
            grads = _sum_gradients(grads)
        norm = ops.sqrt(sum(_squared_norm(g) for g in grads if g is not None))
        # Each replica rounds for itself: with different norms they would drift apart.
        norm = mean_over_replicas(norm)
        if self._max_norm is not None:
            factor = self._max_norm / ops.maximum(norm, self._max_norm)
            grads = [None if g is None else _scale(g, factor) for g in grads]
        super().apply(grads, trainable_variables)
        self.gradient_norm.assign(norm / self.loss_factor)

    def update_step(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        if _is_sparse(gradient):
            self.update_rows(gradient, variable, learning_rate)
        else:
            super().update_step(gradient, variable, learning_rate)

    def get_config(self) -> Config:
        return {**super().get_config(), "global_clipnorm": self._max_norm}


def _squared_norm(gradient: Tensor) -> Tensor:
    values = gradient.values if _is_sparse(gradient) else gradient
    return ops.sum(ops.square(ops.cast(values, "float32")))


def _scale(gradient: Tensor, factor: Tensor) -> Tensor:
    if _is_sparse(gradient):
        return tf.IndexedSlices(
            gradient.values * factor, gradient.indices, gradient.dense_shape
        )
    return gradient * ops.cast(factor, gradient.dtype)


def _is_sparse(gradient: Tensor) -> bool:
    """Whether a gradient is a `tf.IndexedSlices`."""
    if keras.backend.backend() != "tensorflow":
        return False
    return isinstance(gradient, tf.IndexedSlices)


def _sum_gradients(gradients: Iterable[Tensor]) -> list[Tensor]:
    """Sums gradients over the replicas, and over repeated rows.

    TensorFlow keeps one slice per lookup of a row. The norm and the optimizers' slots
    square gradients, and squares of slices do not add up to the square of their sum.
    """
    gradients = list(gradients)
    context = tf.distribute.get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        dense = [g for g in gradients if g is not None and not _is_sparse(g)]
        totals = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, dense))
        # All replicas gather the rows in the same order: sums in different orders
        # would be rounded differently, and the replicas drift apart.
        gradients = [
            tf.IndexedSlices(
                context.all_gather(g.values, axis=0),
                context.all_gather(g.indices, axis=0),
                g.dense_shape,
            )
            if _is_sparse(g)
            else g
            if g is None
            else next(totals)
            for g in gradients
        ]
    return [_sum_repeated_rows(g) if _is_sparse(g) else g for g in gradients]


def _sum_repeated_rows(gradient: Tensor) -> Tensor:
    rows, indices = tf.unique(gradient.indices)
    sums = tf.math.unsorted_segment_sum(gradient.values, indices, tf.size(rows))
    return tf.IndexedSlices(sums, rows, gradient.dense_shape)
