"""Occurrences of a word as points of a plane, and the clusters they form."""

import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set

import numpy as np

from keras_elmo.words.clusters import Clusters, principal

# UMAP needs some neighbours.
_FEWEST_OF_UMAP = 9
_CONTEXT_WORDS = 4
# Function words are in more sentences than this share of the commonest token's.
_COMMON = 0.01


class WordMap:
    """A word's occurrences as points of a plane for each layer.

    The axes are the two first principal components, all layers on one scale, so that
    points that are near each other in a layer look so; or UMAP's, each layer on its own
    scale. Each plane is turned to match the plane of the layer above.

    Vectors `(layers, points, units)` and traits `(points, units)`, which decide the
    clusters, have length 1.

    Attributes:
        points: `(layers, points, 2)`, within -1 and 1.
        labels: the number of each point's cluster.
    """

    def __init__(
        self, vectors: np.ndarray, traits: np.ndarray, umap: bool = False
    ) -> None:
        # A copy, because a view would keep the other layers in memory, too.
        self._top = vectors[-1].copy()
        self._clusters = Clusters(traits)
        self.labels = self._clusters.labels
        self._umap = umap and vectors.shape[1] >= _FEWEST_OF_UMAP
        if self._umap:
            planes = _umap_planes(vectors)
        else:
            count = max(vectors.shape[1], 1)
            self._means = vectors.sum(axis=1, dtype="float64") / count
            self._bases = np.stack([principal(rows, 2) for rows in vectors])
            planes = self._projected(vectors)
        self._turns = np.stack([np.eye(2)] * len(vectors))
        for layer in reversed(range(len(planes) - 1)):
            above = planes[layer + 1] @ self._turns[layer + 1]
            self._turns[layer] = _turn(planes[layer], above)
        self._scale = max(np.abs(planes).max(initial=0), 1e-3)
        self.points = self._finished(planes)

    def place(self, vectors: np.ndarray, trait: np.ndarray) -> tuple[np.ndarray, int]:
        """Returns the points `(layers, 2)` of one more occurrence, and its cluster.

        A point beyond the others is put on the edge of the plane.
        """
        label = self._clusters.nearest(trait)
        if not len(self.labels):
            return np.zeros((len(vectors), 2)), label
        if self._umap:
            nearest = np.argsort(-self._top @ vectors[-1])[:3]
            return self.points[:, nearest].mean(axis=1), label
        planes = self._finished(self._projected(vectors[:, np.newaxis]))
        return np.clip(planes[:, 0], -1, 1), label

    def _projected(self, vectors: np.ndarray) -> np.ndarray:
        return (vectors - self._means[:, np.newaxis]) @ self._bases

    def _finished(self, planes: np.ndarray) -> np.ndarray:
        # Otherwise the rounding errors of equal vectors look like a cloud.
        return np.round(planes @ self._turns / self._scale, 4)


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
    """Returns the rotation or mirroring that moves points near others (Procrustes)."""
    left, _, right = np.linalg.svd(points.T @ towards)
    return left @ right


def context_words(
    sentences: Sequence[Sequence[str]],
    labels: np.ndarray,
    forms: Set[str],
    num_sentences: Mapping[str, int],
) -> list[list[str]]:
    """Returns the words that set each cluster's sentences apart from the rest.

    They are rare in the text, as content words are. `forms` are the forms of the word
    itself, which is left out; `num_sentences` is the number of sentences by word.
    """
    inside = [Counter[str]() for _ in range(int(labels.max(initial=0)) + 1)]
    for sentence, label in zip(sentences, labels.tolist(), strict=True):
        # The first character decides: vowel signs within a word are not letters.
        folded = {token.casefold() for token in sentence if token[:1].isalpha()}
        inside[label].update(folded - forms)
    sizes = np.bincount(labels, minlength=len(inside)).tolist()
    total = sum(inside, Counter[str]())
    most = max(_COMMON * max(num_sentences.values(), default=0), 2)
    context = []
    for counts, size in zip(inside, sizes, strict=True):
        gains = {}
        for beside, count in counts.items():
            common = num_sentences.get(beside, 0)
            rest = (total[beside] - count + 0.5) / (sum(sizes) - size + 1)
            gain = count / size * math.log((count + 0.5) / (size + 1) / rest)
            if common <= most and len(beside) > 1 and gain > 0:
                gains[beside] = gain / math.log(2 + common)
        best = sorted(gains, key=lambda beside: (-gains[beside], beside))
        context.append(best[:_CONTEXT_WORDS])
    return context
