"""Sentences of about the same length together, and their labels."""

from collections.abc import Iterator

import numpy as np
from task import Task


def batches(
    lengths: np.ndarray,
    places: np.ndarray,
    random: np.random.Generator | None = None,
    *,
    batch_size: int,
) -> Iterator[np.ndarray]:
    """Yields places of sentences of about the same length.

    Args:
        lengths: of all sentences.
        places: of the sentences to use.
        random: breaks ties among equal lengths and orders the batches.
        batch_size: sentences at most.
    """
    if random is not None:
        places = random.permutation(places)
    places = places[np.argsort(lengths[places], kind="stable")]
    starts = np.arange(0, len(places), batch_size)
    if random is not None:
        starts = random.permutation(starts)
    for start in starts:
        yield places[start : start + batch_size]


def padded_labels(task: Task, places: np.ndarray) -> np.ndarray:
    """Returns the labels of a batch, -1 where there is none."""
    labels = [task.labels[place] for place in places]
    if not task.is_tagging:
        return np.stack(labels)
    longest = max(1, *map(len, labels))
    batch = np.full((len(labels), longest), -1, np.int32)
    for row, tags in enumerate(labels):
        batch[row, : len(tags)] = tags
    return batch
