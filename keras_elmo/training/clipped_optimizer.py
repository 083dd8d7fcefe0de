"""What the optimizers of pretraining have in common."""

import abc
from typing import Any

import keras
from keras import ops

from keras_elmo.models.replicas import mean_over_replicas
from keras_elmo.training import sparse_gradients


class ClippedOptimizer(keras.optimizers.Optimizer, abc.ABC):
    """An optimizer that bounds the norm of all gradients together.

    Under a `tf.distribute` strategy the gradients are summed over the replicas before
    the norm is taken, so the update is that of one device with the whole batch. (Keras
    clips what each replica has.) Rows of a softmax that a batch does not touch cost
    nothing.

    A subclass comes before one of Keras's optimizers and says what is kept of each
    weight, `add_slots`, and how the rows of a sparse gradient are updated.

    Args:
        global_clipnorm: bound on the norm of all gradients, or `None`.
        **kwargs: arguments of Keras's optimizer.

    Attributes:
        gradient_norm: a variable: the norm of the last gradients of the plain loss,
            before they were clipped.
        loss_factor: by which the loss is multiplied before gradients are taken.
        num_slots: numbers that are kept of each weight.
    """

    loss_factor = 1.0
    num_slots: int

    def __init__(self, *, global_clipnorm: float | None = None, **kwargs: Any) -> None:
        # Keras is not told of the bound: it would clip before the replicas are summed.
        super().__init__(**kwargs)
        self._greatest_norm = global_clipnorm

    def build(self, var_list: list[Any]) -> None:
        if self.built:
            return
        keras.optimizers.Optimizer.build(self, var_list)
        self.add_slots(var_list)
        self.gradient_norm = self.add_variable(
            shape=(),
            name="gradient_norm",
            dtype="float32",
            aggregation="only_first_replica",
        )

    @abc.abstractmethod
    def add_slots(self, var_list: list[Any]) -> None:
        """Makes the variables that Keras's optimizer keeps of each weight."""

    @abc.abstractmethod
    def update_rows(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Updates the rows that a sparse gradient is of, each once."""

    def scale_loss(self, loss: Any) -> Any:
        return super().scale_loss(loss * self.loss_factor)

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        if keras.backend.backend() == "tensorflow":
            grads = sparse_gradients.summed(grads)
        norm = ops.sqrt(sum(_squared_norm(g) for g in grads if g is not None))
        # Each replica rounds for itself; with bounds of their own they would drift.
        norm = mean_over_replicas(norm)
        if self._greatest_norm is not None:
            factor = self._greatest_norm / ops.maximum(norm, self._greatest_norm)
            grads = [None if g is None else _scaled(g, factor) for g in grads]
        super().apply(grads, trainable_variables)
        self.gradient_norm.assign(norm / self.loss_factor)

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> Any:
        # What Keras would sum over the replicas here, `apply` has summed already.
        return grads_and_vars

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        if sparse_gradients.is_sparse(gradient):
            self.update_rows(gradient, variable, learning_rate)
        else:
            super().update_step(gradient, variable, learning_rate)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "global_clipnorm": self._greatest_norm}


def _squared_norm(gradient: Any) -> Any:
    values = gradient.values if sparse_gradients.is_sparse(gradient) else gradient
    return ops.sum(ops.square(ops.cast(values, "float32")))


def _scaled(gradient: Any, factor: Any) -> Any:
    if sparse_gradients.is_sparse(gradient):
        return sparse_gradients.with_values(gradient, gradient.values * factor)
    return gradient * ops.cast(factor, gradient.dtype)
