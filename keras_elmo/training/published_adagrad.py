"""The optimizer of the published models."""

from typing import Any

import keras
from keras import ops

from keras_elmo.training import sparse_gradients
from keras_elmo.training.clipped_optimizer import ClippedOptimizer


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
