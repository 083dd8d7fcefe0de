"""The scores of several seeds: their mean, and how far they go."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Spread(NamedTuple):
    """Of each of several points, what its seeds have.

    Attributes:
        means: `(points,)`.
        below: from the least to the mean, not negative.
        above: from the mean to the most, not negative.
    """

    means: np.ndarray
    below: np.ndarray
    above: np.ndarray


def spread(points: Sequence[ArrayLike], name: str) -> Spread:
    """Returns the means of points, and how far their seeds go from it.

    Args:
        points: the scores of each one's seeds.
        name: of the argument that they are of.

    Raises:
        ValueError: a point has no seed.
    """
    seeds = [np.asarray(each, dtype="float64") for each in points]
    if not all(each.size for each in seeds):
        raise ValueError(
            f"`{name}` must hold a score of at least one seed for each point. "
            f"Received: {[each.tolist() for each in seeds]}"
        )
    means = np.array([each.mean() for each in seeds])
    least = np.array([each.min() for each in seeds])
    most = np.array([each.max() for each in seeds])
    # The mean of three equal numbers may be a little beside them.
    return Spread(means, np.maximum(means - least, 0), np.maximum(most - means, 0))
