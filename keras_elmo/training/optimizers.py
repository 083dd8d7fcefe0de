"""The optimizers of pretraining."""

import re

import keras
from keras import ops

from keras_elmo.training.clipped_optimizer import ClippedOptimizer
from keras_elmo.training.keras_configs import from_config, to_config
from keras_elmo.training.learning_rates import FallingRate, LearningRate
from keras_elmo.training.training_options import LEARNING_RATES
from keras_elmo.utils.bfloat16 import multiplies_bfloat16
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Shape, Tensor


@keras.saving.register_keras_serializable("keras_elmo")
class PublishedAdagrad(ClippedOptimizer, keras.optimizers.Adagrad):
    """Adagrad as the published models were trained with it.

    Gradients of 20 times the loss, clipped to a global norm of 10, with accumulators
    that begin at 1.0. The reported loss is not multiplied.

    Reference: Duchi et al. 2011, Adaptive Subgradient Methods; Peters et al. 2018,
    supplemental material.
    """

    # The published trainer multiplies the loss by the steps it unrolls. With an
    # accumulator that begins at 1 and a clipped norm, that changes the updates.
    loss_factor = 20.0
    defaults = {
        "learning_rate": LEARNING_RATES["adagrad"],
        "initial_accumulator_value": 1.0,
        "global_clipnorm": 10.0,
        "name": "adagrad",
    }

    def add_slots(self, variables: list[keras.Variable]) -> None:
        # Keras's own initializer holds each accumulator twice while it is made.
        sums = self.add_optimizer_variables(
            variables, "accumulator", initializer=self._initial_accumulator
        )
        self.set_slots(accumulators=sums)

    def sums_of(self, variable: keras.Variable) -> keras.Variable:
        """Returns the sums of squared gradients of a weight."""
        return self.slot("accumulators", variable)

    def _initial_accumulator(self, shape: Shape, dtype: str | None = None) -> Tensor:
        return ops.full(shape, self.initial_accumulator_value, dtype=dtype)

    def update_rows(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        rows, values = gradient.indices, gradient.values
        accumulator = self.sums_of(variable).value
        sums = tf.gather(accumulator, rows) + tf.square(values)
        accumulator.scatter_update(tf.IndexedSlices(sums, rows))
        update = tf.cast(learning_rate, values.dtype) * values
        update /= tf.sqrt(sums + self.epsilon)
        variable.scatter_sub(tf.IndexedSlices(update, rows))


@keras.saving.register_keras_serializable("keras_elmo")
class LazyAdam(ClippedOptimizer, keras.optimizers.Adam):
    """Adam that updates only the rows of a softmax that a batch looks up.

    The moments of other rows stay as they are, where Adam would let them decay and
    move the row. (On JAX and PyTorch, whose gradients are dense, it is Adam.)

    `amsgrad` is not supported.

    Reference: Kingma & Ba 2015, Adam: A Method for Stochastic Optimization.
    """

    defaults = {
        "learning_rate": LEARNING_RATES["adam"],
        "global_clipnorm": 1.0,
        "name": "lazy_adam",
    }

    def add_slots(self, variables: list[keras.Variable]) -> None:
        momentums, velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )
        self.set_slots(momentums=momentums, velocities=velocities)

    def update_rows(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        rows, values = gradient.indices, gradient.values
        step = ops.cast(self.iterations + 1, "float32")
        # Corrects the bias of moments that begin at 0.
        correction = ops.sqrt(1 - ops.power(self.beta_2, step))
        correction /= 1 - ops.power(self.beta_1, step)
        rate = ops.cast(learning_rate, "float32") * correction

        def updated(moment: keras.Variable, beta: float, new: Tensor) -> Tensor:
            mean = beta * tf.gather(moment.value, rows) + (1 - beta) * new
            moment.value.scatter_update(tf.IndexedSlices(mean, rows))
            return mean

        mean = updated(self.slot("momentums", variable), self.beta_1, values)
        squares = self.slot("velocities", variable)
        square = updated(squares, self.beta_2, tf.square(values))
        update = tf.cast(rate, values.dtype) * mean
        update /= tf.sqrt(square) + self.epsilon
        variable.scatter_sub(tf.IndexedSlices(update, rows))


# Read row by row.
_TABLES = re.compile(r"embedding$|softmax/")
# An LSTM's, of four matrices beside each other.
_OF_GATES = re.compile(r"(forward|backward)_\d+/kernel$")


@keras.saving.register_keras_serializable("keras_elmo")
class LazyMuon(LazyAdam):
    """Muon for the matrices of the encoder, and `LazyAdam` for all other weights.

    A matrix is updated by its momentum, made orthogonal; the kernel of an LSTM is four
    matrices, one of each gate. Updates have the size of Adam's, so one learning rate
    serves both. The products are in bfloat16 where the device multiplies in it.

    Reference: Jordan et al. 2024, Muon: An optimizer for hidden layers in neural
    networks; Liu et al. 2025, Muon is Scalable for LLM Training, section 2.2 (size of
    the updates).
    """

    momentum = 0.95

    def add_slots(self, variables: list[keras.Variable]) -> None:
        super().add_slots(variables)
        self.set_slots(num_matrices=map(_num_matrices, variables))
        self._dtype_of_products = "bfloat16" if multiplies_bfloat16() else "float32"

    def update_step(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        parts = self.slot("num_matrices", variable)
        if not parts:
            super().update_step(gradient, variable, learning_rate)
            return
        sums = self.slot("momentums", variable)
        self.assign(sums, self.momentum * sums + gradient)
        rows, columns = variable.shape
        update = ops.reshape(gradient + self.momentum * sums, (rows, parts, -1))
        update = _orthogonal(ops.swapaxes(update, 0, 1), self._dtype_of_products)
        update = ops.reshape(ops.swapaxes(update, 0, 1), (rows, columns))
        size = 0.2 * max(rows, columns // parts) ** 0.5
        self.assign_sub(variable, ops.cast(learning_rate, update.dtype) * size * update)


def _num_matrices(variable: keras.Variable) -> int:
    """The matrices beside each other in a weight; 0 for a table, vector or filter."""
    if len(variable.shape) != 2 or _TABLES.search(variable.path):
        return 0
    return 4 if _OF_GATES.search(variable.path) else 1


def _orthogonal(x: Tensor, dtype: str) -> Tensor:
    """Brings the singular values of matrices near 1: five Newton-Schulz iterations."""
    if x.shape[-2] > x.shape[-1]:
        return ops.swapaxes(_orthogonal(ops.swapaxes(x, -1, -2), dtype), -1, -2)
    norm = ops.sqrt(ops.sum(ops.square(x), axis=(-2, -1), keepdims=True))
    y = ops.cast(x / (norm + 1e-7), dtype)
    for _ in range(5):
        square = ops.matmul(y, ops.swapaxes(y, -1, -2))
        polynomial = -4.7750 * square + 2.0315 * ops.matmul(square, square)
        y = 3.4445 * y + ops.matmul(polynomial, y)
    return ops.cast(y, x.dtype)


OPTIMIZERS: dict[str, type[ClippedOptimizer]] = {
    "adagrad": PublishedAdagrad,
    "adam": LazyAdam,
    "muon": LazyMuon,
}


def build_optimizer(
    optimizer: "str | keras.optimizers.Optimizer", learning_rate: LearningRate | None
) -> keras.optimizers.Optimizer:
    """Returns the optimizer of a name, or a copy of one.

    A copy has its variables on the devices of the scope it is made in.
    """
    if not isinstance(optimizer, str):
        return from_config(to_config(optimizer), "optimizer")
    if isinstance(learning_rate, FallingRate):
        learning_rate = learning_rate.peak
    return OPTIMIZERS[optimizer](learning_rate=learning_rate)
