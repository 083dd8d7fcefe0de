"""Clusters and planes of vectors that are known to part."""

import sys
import types

import numpy as np
import pytest

from keras_elmo.explorer.plane import WordMap, clusters, context_words


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
    """The groups come back, numbered by their sizes."""
    vectors, expected = groups(sizes, 0.05)
    assert (clusters(vectors) == expected).all()
    order = np.random.default_rng(1).permutation(len(vectors))
    assert (clusters(vectors[order]) == expected[order]).all()


def test_one_cluster():
    """No structure, few vectors, none at all, or equal ones: one colour."""
    noise = np.random.default_rng(0).normal(size=(40, 256))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    assert not clusters(noise).any()
    assert not clusters(groups((3, 3), 0.05)[0]).any()
    assert len(clusters(np.empty((0, 16)))) == 0
    assert not clusters(np.ones((10, 16)) / 4).any()


def layers(sizes):
    """Layer 0 has one vector for all, the others the groups."""
    vectors, expected = groups(sizes, 0.05)
    return np.stack([np.ones_like(vectors) / 4, vectors, vectors[:, ::-1]]), expected


def test_map():
    """Layer 0 is a point, the layers above part and lie alike; distances are kept."""
    vectors, expected = layers((9, 6))
    found = WordMap(vectors)
    assert found.points.shape == (3, 15, 2)
    assert np.abs(found.points).max() == pytest.approx(1)
    assert np.ptp(found.points[0], axis=0).max() < 1e-3
    one, other = (found.points[:, expected == k].mean(axis=1) for k in (0, 1))
    assert np.linalg.norm(one - other, axis=1)[1:] == pytest.approx([1.8] * 2, abs=0.3)
    # The same vectors, mirrored, have the same plane.
    assert found.points[1] == pytest.approx(found.points[2], abs=1e-3)
    for k in (0, 12):
        point, label = found.place(vectors[:, k])
        assert point == pytest.approx(found.points[:, k], abs=1e-3)
        assert label == expected[k]


def test_place_beyond_the_others():
    """A vector that is unlike all others stays within the picture."""
    vectors, expected = layers((9, 6))
    found = WordMap(vectors[:, expected == 0])
    point, _ = found.place(vectors[:, 12])
    assert np.abs(point).max() == 1


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_points(count):
    vectors = layers((4, 4))[0][:, :count]
    found = WordMap(vectors, umap=True)
    point, label = found.place(layers((4, 4))[0][:, 0])
    assert np.isfinite(point).all() and label == 0
    assert found.points.shape == (3, count, 2) and np.isfinite(found.points).all()


def test_umap(monkeypatch):
    """Where it is installed; here what stands for it."""

    class UMAP:
        def __init__(self, n_neighbors, metric, random_state):
            assert (n_neighbors, metric, random_state) == (14, "cosine", 0)

        def fit_transform(self, rows):
            return np.stack([np.arange(len(rows)), rows[:, 0]], axis=1).astype("f4")

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    vectors, _ = layers((9, 6))
    found = WordMap(vectors, umap=True)
    assert found.points.shape == (3, 15, 2)
    point, _ = found.place(vectors[:, 3])
    assert np.abs(point).max() <= 1
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(
        ImportError, match="A map by UMAP needs umap.* pip install umap-learn"
    ):
        WordMap(vectors, umap=True)


def test_context_words():
    """What stands beside the word in one cluster and not in the other."""
    # The second word has a vowel sign, which is no letter by itself.
    river = [["the", "bank", "of", "a", "नदी", "."]] * 3
    money = [["the", "Bank", "lends", "money"]] * 3
    labels = np.array([0, 0, 0, 1, 1, 1])
    found = context_words(river + money, labels, "bank")
    assert found == [["of", "नदी"], ["lends", "money"]]
    assert context_words([], np.empty(0, "int64"), "bank") == [[]]
