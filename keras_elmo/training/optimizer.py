"""The optimizer of the published models."""

from typing import Any

import keras
from keras import ops

from keras_elmo.models.replicas import mean_over_replicas
from keras_elmo.training import sparse_gradients

# The published trainer multiplies the loss by the steps it unrolls before it takes
# gradients. With an accumulator that begins at 1 and a bound on the norm, that factor
# is part of the recipe.
_LOSS_FACTOR = 20.0


@keras.saving.register_keras_serializable("keras_elmo")
class PublishedAdagrad(keras.optimizers.Adagrad):
    """Adagrad as the published models were trained with it.

    Gradients of 20 times the loss, clipped to a global norm of 10, accumulated from
    1.0; the loss that is reported is the plain one.

    Under a `tf.distribute` strategy the gradients are summed over the replicas before
    the norm is taken, so the update is that of one device with the whole batch. (Keras
    clips what each replica has.) Rows of a softmax that a batch does not touch cost
    nothing.

    Args:
        learning_rate: a number or a schedule.
        global_clipnorm: bound on the norm of all gradients, or `None`.
        **kwargs: arguments of `keras.optimizers.Adagrad`.

    Attributes:
        gradient_norm: a variable: the norm of the last gradients of the plain loss,
            before they were clipped.

    Reference: Duchi et al. 2011, Adaptive Subgradient Methods; Peters et al. 2018,
    supplemental material.
    """

    def __init__(
        self,
        learning_rate: Any = 0.2,
        initial_accumulator_value: float = 1.0,
        global_clipnorm: float | None = 10.0,
        name: str = "adagrad",
        **kwargs: Any,
    ) -> None:
        # Keras is not told of the bound: it would clip before the replicas are summed.
        super().__init__(
            learning_rate=learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            name=name,
            **kwargs,
        )
        self._greatest_norm = global_clipnorm

    def build(self, var_list: list[Any]) -> None:
        if self.built:
            return
        # Not by the parent, which makes its accumulators by way of as many ones.
        keras.optimizers.Optimizer.build(self, var_list)
        self._accumulators = self.add_optimizer_variables(
            var_list, "accumulator", initializer=self._first_sums
        )
        self.gradient_norm = self.add_variable(
            shape=(),
            name="gradient_norm",
            dtype="float32",
            aggregation="only_first_replica",
        )

    def _first_sums(self, shape: Any, dtype: Any = None) -> Any:
        return ops.full(shape, self.initial_accumulator_value, dtype=dtype)

    def scale_loss(self, loss: Any) -> Any:
        return super().scale_loss(loss * _LOSS_FACTOR)

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
        self.gradient_norm.assign(norm / _LOSS_FACTOR)

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> Any:
        # What Keras would sum over the replicas here, `apply` has summed already.
        return grads_and_vars

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        if not sparse_gradients.is_sparse(gradient):
            super().update_step(gradient, variable, learning_rate)
            return
        sparse_gradients.adagrad_update(
            gradient,
            variable,
            self._accumulators[self._get_variable_index(variable)],
            learning_rate,
            self.epsilon,
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "global_clipnorm": self._greatest_norm}


def _squared_norm(gradient: Any) -> Any:
    values = gradient.values if sparse_gradients.is_sparse(gradient) else gradient
    return ops.sum(ops.square(ops.cast(values, "float32")))


def _scaled(gradient: Any, factor: Any) -> Any:
    if sparse_gradients.is_sparse(gradient):
        return sparse_gradients.with_values(gradient, gradient.values * factor)
    return gradient * ops.cast(factor, gradient.dtype)


def learning_rate_at(learning_rate: Any, step: int) -> float:
    """Returns a learning rate, or a schedule's, after some steps."""
    if isinstance(learning_rate, keras.optimizers.schedules.LearningRateSchedule):
        return float(ops.convert_to_numpy(learning_rate(step)))
    return float(learning_rate)
