"""Which positions of a batch the steps of a recurrence read (TensorFlow).

Positions are laid out step after step. A step has the rows that reach it. Where XLA
compiles, which wants sizes beforehand, it has all rows.
"""

from typing import NamedTuple

from keras_elmo.utils.lazy import tf
from keras_elmo.utils.types import Tensor

# Rows whose beginnings are this far apart compete for the same lines of the cache.
_PAGE_BYTES = 4096


class PackedSteps(NamedTuple):
    """Steps of rows that are sorted by length, longest first, without padding.

    Attributes:
        sizes: `(steps,)`, rows of each step; never more than of the one before.
        starts: `(steps,)`, the first position of each step.
        ranks: `(positions,)`, the row of each position among the sorted rows.
    """

    sizes: Tensor
    starts: Tensor
    ranks: Tensor

    @property
    def num_steps(self) -> Tensor:
        return tf.shape(self.sizes)[0]

    @property
    def num_rows(self) -> Tensor:
        """The rows of the first step."""
        return self.sizes[0]

    @property
    def known_rows(self) -> None:
        """The rows of each step, if they are known beforehand."""
        return None

    def of_step(self, x: Tensor, t: Tensor) -> Tensor:
        """Returns the positions of a step."""
        start = self.starts[t]
        return x[start : start + self.sizes[t]]

    def live(self, state: Tensor, t: Tensor) -> Tensor:
        """Returns the rows of a state that reach a step."""
        return state[: self.sizes[t]]

    def replaced(self, new: Tensor, old: Tensor, t: Tensor) -> Tensor:
        """Replaces the first rows of a state, which a step has computed."""
        return tf.concat([new, old[self.sizes[t] :]], axis=0)

    def joined(self, array: tf.TensorArray) -> Tensor:
        """Returns the positions of all steps, from an element for each step."""
        return array.concat()

    def previous(self, first: Tensor, x: Tensor) -> Tensor:
        """Returns what precedes each position in its row.

        Args:
            first: what precedes the first position of each row.
            x: `(positions, features)`.
        """
        starts = self.sizes[0] + self.starts[:-1]
        before = self.ranks + tf.repeat(tf.concat([[0], starts], axis=0), self.sizes)
        return tf.gather(tf.concat([first, x], axis=0), before)

    def fast_kernel(self, kernel: Tensor) -> Tensor:
        """Adds columns to a matrix whose rows compete for the same lines of the cache.

        A product with several rows then takes 40 to 90 % of the time (AVX2), or 93 %
        (AVX-512). A single row reads each line once: the copy would not pay.
        """
        if kernel.shape[1] * kernel.dtype.size % _PAGE_BYTES:
            return kernel
        padding = [[0, 0], [0, 32]]
        return tf.cond(
            self.num_rows > 1, lambda: tf.pad(kernel, padding), lambda: kernel
        )


class EqualSteps(NamedTuple):
    """Steps of all rows, padding included.

    Attributes:
        num_steps: positions of a row.
        num_rows: rows of each step.
    """

    num_steps: int
    num_rows: int

    @property
    def known_rows(self) -> int:
        return self.num_rows

    def of_step(self, x: Tensor, t: Tensor) -> Tensor:
        return tf.slice(x, [t * self.num_rows, 0], [self.num_rows, x.shape[-1]])

    def live(self, state: Tensor, t: Tensor) -> Tensor:
        return state

    def replaced(self, new: Tensor, old: Tensor, t: Tensor) -> Tensor:
        return new

    def joined(self, array: tf.TensorArray) -> Tensor:
        steps = array.stack()
        return tf.reshape(steps, [-1, steps.shape[-1]])

    def previous(self, first: Tensor, x: Tensor) -> Tensor:
        return tf.concat([first, x[: -self.num_rows]], axis=0)

    def fast_kernel(self, kernel: Tensor) -> Tensor:
        return kernel
