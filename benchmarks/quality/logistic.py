"""Logistic regression on the pooled vectors of a sentence, by SentEval's protocol.

The vectors are the mean over the tokens, or the mean and the maximum, of every layer
beside each other, standardised. Which of the two, and the L2 penalty, are chosen on
held-out training sentences; then all training sentences are fitted.

Reference: Conneau and Kiela 2018, "SentEval".
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from data_sets import Task
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

# As the file of scores keeps it: C is the inverse of the penalty, in scikit-learn.
PROTOCOL: dict[str, Any] = {
    "C": [1e-5, 1e-4, 1e-3, 1e-2],
    "pooling": ["mean", "mean and maximum"],
    "held_out": 0.1,
}
_MOST_ITERATIONS = 1000


def pool(layers: Iterable[np.ndarray]) -> np.ndarray:
    """Returns the mean and the maximum of each sentence, 0 of one without tokens.

    Args:
        layers: `(layers, tokens, units)` of each sentence.

    Returns:
        `(sentences, 2, layers, units)`, float32.
    """

    def pooled(vectors: np.ndarray) -> np.ndarray:
        if not vectors.shape[1]:
            vectors = np.zeros_like(vectors, shape=(len(vectors), 1, vectors.shape[2]))
        return np.stack([vectors.mean(axis=1), vectors.max(axis=1)])

    return np.stack([pooled(each) for each in layers])


def predict(
    vectors: np.ndarray, task: Task, seed: int
) -> tuple[dict[int, np.ndarray], dict[str, Any]]:
    """Returns the classes of the development sentences, and what was chosen.

    Args:
        vectors: `(sentences, 2, units)`, the mean and the maximum.
        task: whose sentences they are.
        seed: of the draw of those that are held out to choose on.
    """
    labels = np.stack(task.labels)
    train = np.arange(task.num_train)
    drawn = np.random.default_rng(seed).permutation(train)
    held_out, rest = np.split(drawn, [round(PROTOCOL["held_out"] * len(drawn))])

    def standardised(pooling: str, *parts: np.ndarray) -> list[np.ndarray]:
        """The vectors of each part, by the deviations of the first."""
        number = 1 + PROTOCOL["pooling"].index(pooling)
        found = [vectors[part, :number].reshape(len(part), -1) for part in parts]
        scaler = StandardScaler(copy=False).fit(found[0])
        return [scaler.transform(each) for each in found]

    right = {}
    # With several threads such small products take longer, if anything else runs.
    with threadpool_limits(1):
        for pooling in PROTOCOL["pooling"]:
            fitted, scored = standardised(pooling, rest, held_out)
            # Each goes on from the one before.
            regression = LogisticRegression(max_iter=_MOST_ITERATIONS, warm_start=True)
            for c in PROTOCOL["C"]:
                regression.set_params(C=c).fit(fitted, labels[rest])
                right[pooling, c] = regression.score(scored, labels[held_out])
        pooling, c = max(right, key=lambda choice: right[choice])
        fitted, scored = standardised(pooling, train, task.dev)
        regression = LogisticRegression(C=c, max_iter=_MOST_ITERATIONS)
        classes = regression.fit(fitted, labels[train]).predict(scored)
    found = dict(zip(task.dev.tolist(), classes, strict=True))
    return found, {"pooling": pooling, "C": c}
