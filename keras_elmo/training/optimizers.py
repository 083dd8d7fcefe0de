"""The optimizers of pretraining, by name."""

import abc
from typing import Any

import keras
from keras import ops
from keras.optimizers.schedules import CosineDecay, LearningRateSchedule

from keras_elmo.models.pretraining import mean_over_replicas
from keras_elmo.training import sparse_gradients
from keras_elmo.training.options import LEARNING_RATES, TrainingOptions


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


@keras.saving.register_keras_serializable("keras_elmo")
class PublishedAdagrad(ClippedOptimizer, keras.optimizers.Adagrad):
    """Adagrad as the published models were trained with it.

    Gradients of 20 times the loss, clipped to a global norm of 10, accumulated from
    1.0; the loss that is reported is the plain one.

    Args:
        learning_rate: a number or a schedule.
        global_clipnorm: bound on the norm of all gradients, or `None`.
        **kwargs: arguments of `keras.optimizers.Adagrad`.

    Reference: Duchi et al. 2011, Adaptive Subgradient Methods; Peters et al. 2018,
    supplemental material.
    """

    # The published trainer multiplies the loss by the steps it unrolls before it takes
    # gradients. With an accumulator that begins at 1 and a bound on the norm, that
    # factor is part of the recipe.
    loss_factor = 20.0
    num_slots = 1

    def __init__(
        self,
        learning_rate: Any = 0.2,
        initial_accumulator_value: float = 1.0,
        global_clipnorm: float | None = 10.0,
        name: str = "adagrad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )

    def add_slots(self, var_list: list[Any]) -> None:
        # Keras makes its accumulators by way of as many ones.
        self._accumulators = self.add_optimizer_variables(
            var_list, "accumulator", initializer=self._first_sums
        )

    def _first_sums(self, shape: Any, dtype: Any = None) -> Any:
        return ops.full(shape, self.initial_accumulator_value, dtype=dtype)

    def update_rows(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        sparse_gradients.adagrad_update(
            gradient,
            variable,
            self._accumulators[self._get_variable_index(variable)],
            learning_rate,
            self.epsilon,
        )


@keras.saving.register_keras_serializable("keras_elmo")
class LazyAdam(ClippedOptimizer, keras.optimizers.Adam):
    """Adam that leaves the rows of a softmax alone which a batch does not touch.

    The moments of such a row stay what they were, where Adam would let them fade and
    move the row by them. (Where gradients are not sparse, on JAX and PyTorch, it is
    Adam.)

    Args:
        learning_rate: a number or a schedule.
        global_clipnorm: bound on the norm of all gradients, or `None`.
        **kwargs: arguments of `keras.optimizers.Adam`, but not `amsgrad`.

    Reference: Kingma & Ba 2015, Adam: A Method for Stochastic Optimization.
    """

    num_slots = 2

    def __init__(
        self,
        learning_rate: Any = 0.002,
        global_clipnorm: float | None = 1.0,
        name: str = "lazy_adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )

    def add_slots(self, var_list: list[Any]) -> None:
        self._momentums, self._velocities = self.add_optimizer_variables(
            var_list, ["momentum", "velocity"]
        )

    def update_rows(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        step = ops.cast(self.iterations + 1, "float32")
        # Both moments begin at 0 and are too small at first.
        correction = ops.sqrt(1 - ops.power(self.beta_2, step))
        correction /= 1 - ops.power(self.beta_1, step)
        place = self._get_variable_index(variable)
        sparse_gradients.adam_update(
            gradient,
            variable,
            (self._momentums[place], self._velocities[place]),
            (self.beta_1, self.beta_2),
            ops.cast(learning_rate, "float32") * correction,
            self.epsilon,
        )


_OPTIMIZERS: dict[str, type[ClippedOptimizer]] = {
    "adagrad": PublishedAdagrad,
    "adam": LazyAdam,
}


def build_learning_rate(options: TrainingOptions) -> float | LearningRateSchedule:
    """Returns the learning rate of a run, or how it changes."""
    rate, warmup = options.learning_rate, options.warmup_steps
    if rate is None:
        rate = LEARNING_RATES[options.optimizer]
    if options.schedule == "constant" or options.steps is None:
        return rate
    if not warmup:
        return CosineDecay(rate, options.steps)
    return CosineDecay(
        0.0, options.steps - warmup, warmup_target=rate, warmup_steps=warmup
    )


def build_optimizer(name: str, learning_rate: Any) -> ClippedOptimizer:
    """Returns the optimizer of a name, with a number or a schedule."""
    return _OPTIMIZERS[name](learning_rate=learning_rate)


def learning_rate_at(learning_rate: Any, step: int) -> float:
    """Returns a learning rate, or a schedule's, after some steps."""
    if isinstance(learning_rate, keras.optimizers.schedules.LearningRateSchedule):
        return float(ops.convert_to_numpy(learning_rate(step)))
    return float(learning_rate)
