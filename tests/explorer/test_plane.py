"""Planes of vectors that are known to part."""

import sys
import types

import numpy as np
import pytest

from keras_elmo.explorer.plane import WordMap, context_words
from tests.words.test_clusters import groups


def layers(sizes):
    """Layer 0 has one vector for all words; the layers above have groups."""
    vectors, expected = groups(sizes, 0.05)
    return np.stack([np.ones_like(vectors) / 4, vectors, vectors[:, ::-1]]), expected


def test_map():
    """Layer 0 is a point, the layers above part and lie alike; distances are kept."""
    vectors, expected = layers((9, 6))
    found = WordMap(vectors, vectors[1])
    assert found.points.shape == (3, 15, 2)
    assert np.abs(found.points).max() == pytest.approx(1)
    assert np.ptp(found.points[0], axis=0).max() < 1e-3
    one, other = (found.points[:, expected == k].mean(axis=1) for k in (0, 1))
    assert np.linalg.norm(one - other, axis=1)[1:] == pytest.approx([1.8] * 2, abs=0.3)
    # The same vectors, mirrored, have the same plane.
    assert found.points[1] == pytest.approx(found.points[2], abs=1e-3)
    for k in (0, 12):
        point, label = found.place(vectors[:, k], vectors[1, k])
        assert point == pytest.approx(found.points[:, k], abs=1e-3)
        assert label == expected[k]


def test_place_beyond_the_others():
    """An outlier stays within the picture."""
    vectors, expected = layers((9, 6))
    found = WordMap(vectors[:, expected == 0], vectors[1, expected == 0])
    point, _ = found.place(vectors[:, 12], vectors[1, 12])
    assert np.abs(point).max() == 1


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_points(count):
    vectors = layers((4, 4))[0][:, :count]
    found = WordMap(vectors, vectors[1], umap=True)
    point, label = found.place(layers((4, 4))[0][:, 0], layers((4, 4))[0][1, 0])
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
    found = WordMap(vectors, vectors[1], umap=True)
    assert found.points.shape == (3, 15, 2)
    point, _ = found.place(vectors[:, 3], vectors[1, 3])
    assert np.abs(point).max() <= 1
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(
        ImportError, match="A map by UMAP needs umap.* pip install umap-learn"
    ):
        WordMap(vectors, vectors[1], umap=True)


def test_context_words():
    """Words of content beside the word in one cluster and not in the other."""
    # The third word has a vowel sign, which is no letter by itself.
    river = [["the", "bank", "of", "a", "नदी", "."]] * 3
    money = [["the", "Bank", "lends", "money"]] * 3
    labels = np.array([0, 0, 0, 1, 1, 1])
    num_sentences = {"the": 500, "of": 250, "a": 200, "lends": 3, "money": 3}
    found = context_words(river + money, labels, {"bank"}, num_sentences)
    assert found == [["नदी"], ["lends", "money"]]
    assert context_words([], np.empty(0, "int64"), {"bank"}, {}) == [[]]
