"""A scikit-learn transformer from texts to vectors."""

import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from keras_elmo.embedding.embedder import embed
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source
from keras_elmo.utils.checks import check_choice
from keras_elmo.utils.lazy import import_extra
from keras_elmo.utils.types import Tensor

import_extra("sklearn", "ElmoVectorizer", "sklearn")

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)

_POOLING = ("mean", "max")
_LAYERS = ("mix", "all")


class ElmoVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Pools a frozen biLM's word vectors over the words of each text.

    `fit` learns nothing, so you may call `transform` without it. A clone or a saved
    vectorizer holds the name or path of its model, and no weights.

    Args:
        model: a name or path as for `load`, or another model that `embed` takes.
        pooling: `"mean"` or `"max"`, over the words.
        layers: `"mix"`, the model's trained mix or, without one, the average of its
            layers; or `"all"`, one layer after the other.
        tokenizer: how to split texts; `None` for the model's way, `"whitespace"` for
            tokenized text.
        batch_size: number of texts in a batch.

    Raises:
        ImportError: scikit-learn is not installed.

    Example:

    ```python
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from keras_elmo.sklearn import ElmoVectorizer

    texts = ["a warm film", "a dull film", "warm and funny", "long and dull"]
    pipeline = make_pipeline(ElmoVectorizer("elmo-en"), LogisticRegression())
    pipeline.fit(texts, ["good", "bad", "good", "bad"])
    assert pipeline.predict(["a funny film"])[0] in ("good", "bad")
    ```
    """

    def __init__(
        self,
        model: Source = "elmo-en",
        *,
        pooling: Literal["mean", "max"] = "mean",
        layers: str = "mix",
        tokenizer: str | None = None,
        batch_size: int = 32,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.layers = layers
        self.tokenizer = tokenizer
        self.batch_size = batch_size

    def fit(self, X: object, y: object = None) -> "ElmoVectorizer":
        """Checks the arguments and the texts.

        Args:
            X: texts, or lists of words: a list, an array or a column of a data frame.
            y: not used.
        """
        check_choice(_POOLING, pooling=self.pooling)
        check_choice(_LAYERS, layers=self.layers)
        _texts(X)
        _in_memory(self.model)
        return self

    def transform(self, X: object) -> np.ndarray:
        """Returns the vectors of texts.

        Args:
            X: see `fit`.

        Returns:
            `(texts, features)` float32 array.
        """
        texts = _texts(X)
        self.fit(texts)
        vectors = embed(
            _in_memory(self.model),
            texts,
            self.batch_size,
            layers=self.layers,
            pooling=self.pooling,
            tokenizer=self.tokenizer,
        )
        return vectors.reshape(len(vectors), self._n_features_out)

    @property
    def _n_features_out(self) -> int:
        """The number of features, by scikit-learn's name for it."""
        config = open_model(_in_memory(self.model)).encoder().config
        num_layers: int = config.num_layers + 1 if self.layers == "all" else 1
        return num_layers * 2 * int(config.projection_units)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tensor:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags


def _texts(X: Tensor) -> Sequence[Tensor]:
    """Returns texts as a list, or an array or a column as it is."""
    if isinstance(X, str | bytes):
        raise ValueError(f"`X` must be a list of texts. Received: X={X!r}")
    if hasattr(X, "shape") and len(X.shape) != 1:
        raise ValueError(
            "`X` must have one axis, a text for each sample. "
            f"Received: an array of shape {tuple(X.shape)}"
        )
    texts = X if hasattr(X, "shape") else list(X)
    if not len(texts):
        raise ValueError("`X` must have a text. Received: 0 samples")
    return texts


def _in_memory(model: Source) -> Source:
    """Returns a model that `embed` does not load anew."""
    if not isinstance(model, str | os.PathLike):
        return model
    path = os.fspath(model)
    changed = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    return _loaded(path, changed)


@lru_cache(maxsize=2)
def _loaded(path: str, changed: int) -> Source:
    """Keeps a model, with its mix, for the many calls of a grid search."""
    source = open_model(path)
    encoder, mix = source.encoder(), source.mix()
    vars(source).update(encoder=lambda: encoder, mix=lambda: mix)
    return source
