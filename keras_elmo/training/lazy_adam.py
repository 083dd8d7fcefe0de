"""Adam for a softmax of many words."""

from typing import Any

import keras
from keras import ops

from keras_elmo.training import sparse_gradients
from keras_elmo.training.clipped_optimizer import ClippedOptimizer


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
