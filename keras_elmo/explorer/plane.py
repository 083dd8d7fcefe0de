"""Occurrences of a word as points of a plane, and the clusters they form."""

import importlib
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

# Fewer occurrences are left in one cluster.
_FEWEST = 8
_MOST_CLUSTERS = 5
# A mean silhouette below this is no structure worth a colour.
_LEAST_SILHOUETTE = 0.08
_ROUNDS = 30
_CONTEXT_WORDS = 4


class WordMap:
    """A word's occurrences as points of a plane for each layer.

    The planes are those of the two first principal components, all on one scale, so
    that points that are near each other in a layer look so; or those of UMAP, each on
    its own scale. Each plane is turned to lie like the plane of the layer above.

    Args:
        vectors: of length 1, `(layers, points, units)`.
        umap: whether the planes are those of UMAP.

    Attributes:
        points: `(layers, points, 2)`, within -1 and 1.
        labels: the number of each point's cluster, by the top layer.

    Raises:
        ImportError: `umap` without the package umap-learn.
    """

    def __init__(self, vectors: np.ndarray, umap: bool = False) -> None:
        # A copy, for a view would keep the other layers, too.
        self._top = vectors[-1].copy()
        self.labels = clusters(vectors[-1].astype("float64"))
        # UMAP needs some neighbours.
        self._umap = umap and vectors.shape[1] > _FEWEST
        if self._umap:
            planes = _umap_planes(vectors)
        else:
            count = max(vectors.shape[1], 1)
            self._means = vectors.sum(axis=1, dtype="float64") / count
            self._bases = np.stack([_principal(rows) for rows in vectors])
            planes = self._projected(vectors)
        self._turns = np.stack([np.eye(2)] * len(vectors))
        for layer in reversed(range(len(planes) - 1)):
            above = planes[layer + 1] @ self._turns[layer + 1]
            self._turns[layer] = _turn(planes[layer], above)
        self._scale = max(np.abs(planes).max(initial=0), 1e-3)
        self.points = self._finished(planes)

    def place(self, vectors: np.ndarray) -> tuple[np.ndarray, int]:
        """Returns the points `(layers, 2)` of one more occurrence, and its cluster.

        One that lies beyond the others is on the edge of the plane.
        """
        if not len(self.labels):
            return np.zeros((len(vectors), 2)), 0
        cosines = self._top @ vectors[-1]
        nearest = np.argsort(-cosines)[:3]
        sizes = np.bincount(self.labels)
        label = int((np.bincount(self.labels, cosines) / sizes).argmax())
        if self._umap:
            return self.points[:, nearest].mean(axis=1), label
        planes = self._finished(self._projected(vectors[:, np.newaxis]))
        return np.clip(planes[:, 0], -1, 1), label

    def _projected(self, vectors: np.ndarray) -> np.ndarray:
        return (vectors - self._means[:, np.newaxis]) @ self._bases

    def _finished(self, planes: np.ndarray) -> np.ndarray:
        # Equal vectors: without this, rounding errors look like a cloud.
        return np.round(planes @ self._turns / self._scale, 4)


def _principal(rows: np.ndarray) -> np.ndarray:
    """Returns the two first principal components, `(units, 2)`."""
    basis = np.zeros((rows.shape[1], 2))
    if len(rows) > 1:
        centred = rows - rows.mean(axis=0, dtype="float64")
        # Points are fewer than units: much faster than a singular value decomposition.
        _, left = np.linalg.eigh(centred @ centred.T)
        basis = centred.T @ left[:, :-3:-1]
        basis /= np.maximum(np.linalg.norm(basis, axis=0), 1e-6)
    return basis


def _umap_planes(vectors: np.ndarray) -> np.ndarray:
    try:
        umap = importlib.import_module("umap")
    except ImportError as error:
        raise ImportError(
            f"A map by UMAP needs umap, which cannot be imported ({error}). Install it "
            "with: pip install umap-learn"
        ) from error
    planes = []
    for rows in vectors:
        neighbors = min(15, len(rows) - 1)
        reducer = umap.UMAP(n_neighbors=neighbors, metric="cosine", random_state=0)
        points = reducer.fit_transform(rows).astype("float64")
        points -= points.mean(axis=0)
        planes.append(points / max(np.abs(points).max(), 1e-3))
    return np.stack(planes)


def _turn(points: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """Returns the turn or mirroring that brings points near others (Procrustes)."""
    left, _, right = np.linalg.svd(points.T @ towards)
    return left @ right


def clusters(vectors: np.ndarray) -> np.ndarray:
    """Returns the number of each row's cluster; cluster 0 is the largest.

    k-means, with the k of the greatest mean silhouette (Rousseeuw 1987), or 1 if no k
    has a silhouette.

    Args:
        vectors: of length 1, `(points, units)`.
    """
    best, labels = _LEAST_SILHOUETTE, np.zeros(len(vectors), "int64")
    if len(vectors) < _FEWEST:
        return labels
    # Squared distances of vectors of length 1.
    distances = np.sqrt(np.maximum(2 - 2 * vectors @ vectors.T, 0))
    for k in range(2, _MOST_CLUSTERS + 1):
        tried = _k_means(vectors, distances, k)
        silhouette = _silhouette(distances, tried, k)
        if silhouette > best:
            best, labels = silhouette, tried
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
                vectors[labels == label].mean(axis=0)
                if (labels == label).any()
                else old
                for label, old in enumerate(centres)
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
    """Returns the words that tell each cluster's sentences from the others'."""
    inside = [Counter[str]() for _ in range(int(labels.max(initial=0)) + 1)]
    for sentence, label in zip(sentences, labels.tolist(), strict=True):
        # The first character alone: a vowel sign within a word is no letter.
        folded = {token.casefold() for token in sentence if token[:1].isalpha()}
        inside[label].update(folded - {word.casefold()})
    sizes = np.bincount(labels, minlength=len(inside)).tolist()
    total = sum(inside, Counter[str]())
    context = []
    for counts, size in zip(inside, sizes, strict=True):
        gains = {}
        for beside, count in counts.items():
            rest = (total[beside] - count + 0.5) / (sum(sizes) - size + 1)
            gain = count / size * math.log((count + 0.5) / (size + 1) / rest)
            if count > 1 and len(beside) > 1 and gain > 0:
                gains[beside] = gain
        best = sorted(gains, key=lambda beside: (-gains[beside], beside))
        context.append(best[:_CONTEXT_WORDS])
    return context
