"""Occurrences of a word as points of a plane, and the clusters they form."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from keras_elmo.utils.lazy import import_extra

# Fewer occurrences are left in one cluster.
_FEWEST = 8
_MOST_CLUSTERS = 5
# A mean silhouette below this is no structure worth a colour.
_LEAST_SILHOUETTE = 0.08
_ROUNDS = 30
_CONTEXT_WORDS = 4


def principal_planes(vectors: np.ndarray) -> np.ndarray:
    """Returns the two principal components of each layer, `(layers, points, 2)`.

    All layers have one scale, so that points that are near each other in a layer look
    so. Each plane is turned to lie like that of the layer above it.

    Args:
        vectors: of shape `(layers, points, units)`.
    """
    planes = np.zeros((*vectors.shape[:2], 2))
    for layer in reversed(range(len(vectors))):
        centred = vectors[layer] - vectors[layer].mean(axis=0, dtype="float64")
        left, singular, _ = np.linalg.svd(centred, full_matrices=False)
        found = (left * singular)[:, :2]
        planes[layer, :, : found.shape[1]] = found
        if layer + 1 < len(vectors):
            planes[layer] = _turned(planes[layer], planes[layer + 1])
    # Equal vectors: without this, rounding errors look like a cloud.
    return np.round(planes / max(np.abs(planes).max(), 1e-3), 4)


def umap_planes(vectors: np.ndarray) -> np.ndarray:
    """Returns each layer's plane by UMAP, each on a scale of its own."""
    umap = import_extra("umap", "UMAP", "explore")
    planes = np.zeros((*vectors.shape[:2], 2))
    for layer, rows in enumerate(vectors):
        neighbors = min(15, len(rows) - 1)
        reducer = umap.UMAP(n_neighbors=neighbors, metric="cosine", random_state=0)
        found = reducer.fit_transform(rows)
        found = found - found.mean(axis=0)
        planes[layer] = found / max(np.abs(found).max(), 1e-3)
    for layer in reversed(range(len(planes) - 1)):
        planes[layer] = _turned(planes[layer], planes[layer + 1])
    return np.round(planes / max(np.abs(planes).max(), 1e-3), 4)


def _turned(points: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """Turns and mirrors points to be near others (orthogonal Procrustes)."""
    left, _, right = np.linalg.svd(points.T @ towards)
    return points @ (left @ right)


def clusters(vectors: np.ndarray) -> np.ndarray:
    """Returns the number of each row's cluster, the largest being 0.

    k-means; k has the greatest mean silhouette (Rousseeuw 1987), or is 1 where no k has
    one.

    Args:
        vectors: of length 1, `(points, units)`.
    """
    best, labels = _LEAST_SILHOUETTE, np.zeros(len(vectors), "int64")
    if len(vectors) < _FEWEST:
        return labels
    # Squared distances of vectors of length 1.
    distances = np.sqrt(np.maximum(2 - 2 * vectors @ vectors.T, 0))
    for k in range(2, _MOST_CLUSTERS + 1):
        found = _k_means(vectors, distances, k)
        silhouette = _silhouette(distances, found, k)
        if silhouette > best:
            best, labels = silhouette, found
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]


def _k_means(vectors: np.ndarray, distances: np.ndarray, k: int) -> np.ndarray:
    """Returns the labels; the first centres lie far from each other."""
    chosen = [int(distances.sum(axis=1).argmin())]
    while len(chosen) < k:
        chosen.append(int(distances[chosen].min(axis=0).argmax()))
    centres = vectors[chosen]
    labels = np.zeros(len(vectors), "int64")
    for _ in range(_ROUNDS):
        # Of vectors of length 1 the nearest centre has the greatest of these.
        products = vectors @ centres.T - (centres**2).sum(axis=1) / 2
        before, labels = labels, products.argmax(axis=1)
        if (before == labels).all():
            break
        centres = np.stack(
            [
                vectors[labels == each].mean(axis=0) if (labels == each).any() else old
                for each, old in enumerate(centres)
            ]
        )
    return labels


def _silhouette(distances: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Returns the mean silhouette; -1 if a cluster has fewer than three points."""
    member = labels == np.arange(k)[:, np.newaxis]
    sizes = member.sum(axis=1)
    if sizes.min() < 3:
        return -1.0
    sums = member @ distances
    rows = np.arange(len(labels))
    own = sums[labels, rows] / (sizes[labels] - 1)
    means = sums / sizes[:, np.newaxis]
    means[labels, rows] = np.inf
    nearest = means.min(axis=0)
    widths = (nearest - own) / np.maximum(np.maximum(nearest, own), 1e-12)
    return float(widths.mean())


def context_words(
    sentences: Sequence[Sequence[str]], labels: np.ndarray, word: str
) -> list[list[str]]:
    """Returns the words that stand beside a word in each cluster rather than others."""
    inside = [Counter[str]() for _ in range(int(labels.max(initial=0)) + 1)]
    for sentence, label in zip(sentences, labels.tolist(), strict=True):
        folded = {each.casefold() for each in sentence if each.isalpha()}
        inside[label].update(folded - {word.casefold()})
    sizes = np.bincount(labels, minlength=len(inside)).tolist()
    total = sum(inside, Counter[str]())
    found = []
    for counts, size in zip(inside, sizes, strict=True):
        gains = {}
        for each, count in counts.items():
            rest = (total[each] - count + 0.5) / (sum(sizes) - size + 1)
            gain = count / size * math.log((count + 0.5) / (size + 1) / rest)
            if count > 1 and len(each) > 1 and gain > 0:
                gains[each] = gain
        best = sorted(gains, key=lambda each: (-gains[each], each))
        found.append(best[:_CONTEXT_WORDS])
    return found
