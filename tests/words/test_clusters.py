"""Clusters of vectors that are known to part."""

import numpy as np
import pytest

from keras_elmo.words.clusters import Clusters


def groups(sizes, spread, seed=0):
    """Vectors of length 1 about a centre for each group, and the groups."""
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.normal(size=(16, 16)))[0][: len(sizes)]
    rows = np.repeat(centres, sizes, axis=0)
    rows = rows + rng.normal(scale=spread, size=rows.shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), np.repeat(
        np.arange(len(sizes)), sizes
    )


@pytest.mark.parametrize("sizes", [(9, 5), (12, 8, 4), (20, 10, 5, 3)])
def test_clusters(sizes):
    """The groups come back, numbered by their sizes; one more goes to its own."""
    vectors, expected = groups(sizes, 0.05)
    assert (Clusters(vectors).labels == expected).all()
    order = np.random.default_rng(1).permutation(len(vectors))
    found = Clusters(vectors[order])
    assert (found.labels == expected[order]).all()
    assert [found.nearest(vector) for vector in vectors] == expected.tolist()


@pytest.mark.parametrize("points", [20, 40, 200])
def test_noise(points):
    """It has no groups."""
    noise = np.random.default_rng(0).normal(size=(points, 256))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    assert not Clusters(noise).labels.any()


def test_one_cluster():
    """Few vectors, none at all, or equal ones: one cluster."""
    assert not Clusters(groups((3, 3), 0.05)[0]).labels.any()
    assert not Clusters(np.ones((10, 16)) / 4).labels.any()
    none = Clusters(np.empty((0, 16)))
    assert len(none.labels) == 0 and none.nearest(np.ones(16) / 4) == 0
