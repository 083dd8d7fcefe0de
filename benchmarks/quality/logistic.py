"""Logistic regression on the pooled vectors of a sentence, after SentEval.

The vectors are the mean over the tokens, or the mean and the maximum, of every layer
beside each other, standardised. Which of the two, and the L2 penalty, are chosen by
cross-validation on the training sentences; then all of them are fitted. (SentEval
neither standardises nor chooses the pooling.)

Reference: Conneau and Kiela 2018, "SentEval".
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from data_sets import Task
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

# As the file of scores keeps it: C is the inverse of the penalty, in scikit-learn.
PROTOCOL: dict[str, Any] = {
    "C": [1e-4, 1e-3, 1e-2, 1e-1],
    "pooling": ["mean", "mean and maximum"],
    "folds": 5,
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
        seed: of the draw of the folds to choose on.
    """
    labels = np.stack(task.labels)
    steps = [
        ("pool", FunctionTransformer(_pooled)),
        ("standardise", StandardScaler()),
        ("fit", LogisticRegression(max_iter=_MOST_ITERATIONS)),
    ]
    search = GridSearchCV(
        Pipeline(steps),
        {
            "pool__kw_args": [{"pooling": each} for each in PROTOCOL["pooling"]],
            "fit__C": PROTOCOL["C"],
        },
        cv=StratifiedKFold(PROTOCOL["folds"], shuffle=True, random_state=seed),
    )
    # With several threads such small products take longer, if anything else runs.
    with threadpool_limits(1):
        search.fit(vectors[: task.num_train], labels[: task.num_train])
        classes = search.predict(vectors[task.dev])
    chosen = search.best_params_
    found = dict(zip(task.dev.tolist(), classes, strict=True))
    return found, {"pooling": chosen["pool__kw_args"]["pooling"], "C": chosen["fit__C"]}


def _pooled(vectors: np.ndarray, pooling: str) -> np.ndarray:
    """`(sentences, numbers)`, as a regression takes them."""
    number = 1 + PROTOCOL["pooling"].index(pooling)
    return vectors[:, :number].reshape(len(vectors), -1)
