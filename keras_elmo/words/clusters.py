"""Groups of occurrences of a word."""

import numpy as np

from keras_elmo.words.token_vectors import normalize

# Fewer occurrences are left in one cluster.
_FEWEST = 8
_MOST_CLUSTERS = 5
_FEWEST_MEMBERS = 3
# The occurrences of one word differ in few directions by its meanings; among all of
# them the distances are much alike.
_COMPONENTS = 5
# A mean silhouette that this many vectors of noise do not reach.
_LEAST_SILHOUETTE = 0.27


class Clusters:
    """Clusters of vectors by average linkage of cosines, in few principal components.

    Their number is the one of the greatest mean silhouette (Rousseeuw 1987), or 1 if no
    number has a silhouette that noise would not reach. The vectors, `(points, units)`,
    have length 1; `labels` are the number of each point's cluster, 0 being the largest.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        vectors = vectors.astype("float64")
        self._mean = vectors.mean(axis=0) if len(vectors) else 0.0
        self._basis = principal(vectors, _COMPONENTS)
        self._points = self._project(vectors)
        self.labels = np.zeros(len(vectors), "int64")
        if len(vectors) < _FEWEST:
            return
        cosines = self._points @ self._points.T
        distances = np.sqrt(np.maximum(2 - 2 * cosines, 0))
        best = _LEAST_SILHOUETTE
        for labels in _average_linkage(cosines):
            silhouette = _silhouette(distances, labels)
            if silhouette > best:
                best, self.labels = silhouette, labels
        order = np.argsort(-np.bincount(self.labels), kind="stable")
        self.labels = np.argsort(order)[self.labels]

    def nearest(self, vector: np.ndarray) -> int:
        """Returns the cluster with the greatest mean cosine to a vector."""
        if not len(self.labels):
            return 0
        cosines = self._points @ self._project(vector[np.newaxis].astype("float64"))[0]
        sums = np.bincount(self.labels, cosines)
        return int((sums / np.bincount(self.labels)).argmax())

    def _project(self, vectors: np.ndarray) -> np.ndarray:
        points: np.ndarray = normalize((vectors - self._mean) @ self._basis)
        return points


def principal(rows: np.ndarray, count: int) -> np.ndarray:
    """Returns the first principal components, `(units, count)`, zeros where none is."""
    basis = np.zeros((rows.shape[1], count))
    if len(rows) > 1:
        centred = rows - rows.mean(axis=0, dtype="float64")
        # Points are fewer than units: much faster than a singular value decomposition.
        _, left = np.linalg.eigh(centred @ centred.T)
        axes = centred.T @ left[:, : -count - 1 : -1]
        axes /= np.maximum(np.linalg.norm(axes, axis=0), 1e-6)
        basis[:, : axes.shape[1]] = axes
    return basis


def _average_linkage(cosines: np.ndarray) -> list[np.ndarray]:
    """Returns the labels of two clusters, of three, and so on."""
    close = cosines.copy()
    np.fill_diagonal(close, -np.inf)
    sizes = np.ones(len(close))
    labels = np.arange(len(close))
    levels = []
    for count in range(len(close) - 1, 1, -1):
        one, other = sorted(np.unravel_index(close.argmax(), close.shape))
        row = sizes[one] * close[one] + sizes[other] * close[other]
        row /= sizes[one] + sizes[other]
        row[[one, other]] = -np.inf
        close[one] = close[:, one] = row
        close[other] = close[:, other] = -np.inf
        sizes[one] += sizes[other]
        labels = np.where(labels == other, one, labels)
        if count <= _MOST_CLUSTERS:
            levels.append(np.unique(labels, return_inverse=True)[1])
    return levels[::-1]


def _silhouette(distances: np.ndarray, labels: np.ndarray) -> float:
    """Returns the mean silhouette; -1 if a cluster has too few points."""
    member = labels == np.arange(labels.max() + 1)[:, np.newaxis]
    sizes = member.sum(axis=1)
    if sizes.min() < _FEWEST_MEMBERS:
        return -1.0
    sums = member @ distances
    rows = np.arange(len(labels))
    own = sums[labels, rows] / (sizes[labels] - 1)
    means = sums / sizes[:, np.newaxis]
    means[labels, rows] = np.inf
    nearest = means.min(axis=0)
    widths = (nearest - own) / np.maximum(np.maximum(nearest, own), 1e-12)
    return float(widths.mean())
