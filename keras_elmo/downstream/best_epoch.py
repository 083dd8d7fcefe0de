"""Scores of development data after each epoch, and the weights of the best epoch."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import keras
import numpy as np
from keras import ops

from keras_elmo.text.tag_scores import TagScores
from keras_elmo.text.tagged_sentence import TaggedSentence
from keras_elmo.utils.types import Tensor

_NOT_SCORED = (-np.inf, -np.inf)


def score_of(logs: Mapping[str, float]) -> tuple[float, float]:
    """Returns what tells the better epoch: F1, else accuracy; if equal, the loss."""
    # While no span is found, the loss decides.
    score = logs.get("val_f1", logs.get("val_accuracy", -np.inf))
    return score, -logs.get("val_loss", np.inf)


class BestEpoch(keras.callbacks.Callback):
    """Keeps the weights of the best epoch, if epochs have scores.

    Training stops after `patience` epochs without a better score, if it is a number.
    """

    def __init__(self, patience: int | None) -> None:
        super().__init__()
        self._patience = patience
        self._best = _NOT_SCORED
        self._best_epoch = 0
        self._weights: list[np.ndarray] = []

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        score = score_of(logs or {})
        if score > self._best:
            self._best, self._best_epoch = score, epoch
            # Copies: JAX gives the memory of variables to the next step.
            self._weights = [
                np.array(ops.convert_to_numpy(weight), copy=True)
                for weight in self.model.trainable_variables
            ]
        elif self._patience and score > _NOT_SCORED:
            if epoch - self._best_epoch >= self._patience:
                self.model.stop_training = True

    def restore(self) -> None:
        """Gives the model the weights of its best epoch, if an epoch has ended."""
        if self._weights:
            pairs = zip(self.model.trainable_variables, self._weights, strict=True)
            for weight, value in pairs:
                weight.assign(value)


class TagScoresByEpoch(keras.callbacks.Callback):
    """Adds scores of development data to the logs, for the callbacks that follow.

    `groups` are the places of the sentences in each batch `(x, y)`; `score` returns the
    indices of a batch's best tags, and its loss.
    """

    def __init__(
        self,
        sentences: Sequence[TaggedSentence],
        groups: Sequence[Sequence[int]],
        batches: Iterable[tuple[Tensor, ...]],
        score: Callable[[Tensor, Tensor], tuple[Tensor, float]],
        tags: Sequence[str],
    ) -> None:
        super().__init__()
        self._sentences = sentences
        self._groups = groups
        self._batches = batches
        self._score = score
        self._tags = tags

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        if logs is not None:
            # For History, the progress bar, and callbacks that follow.
            scores = self._scores()
            logs.update({f"val_{name}": value for name, value in scores.items()})

    def _scores(self) -> dict[str, float]:
        predicted: dict[int, list[str]] = {}
        losses = []
        for group, (x, y) in zip(self._groups, self._batches, strict=True):
            indices, loss = self._score(x, y)
            losses.append(float(loss))
            rows = ops.convert_to_numpy(indices).tolist()
            for place, row in zip(group, rows, strict=True):
                num_words = len(self._sentences[place].words)
                predicted[place] = [self._tags[k] for k in row[:num_words]]
        result = TagScores(
            (sentence.tags for sentence in self._sentences),
            (predicted[k] for k in range(len(self._sentences))),
            self._tags,
        )
        scores = {"accuracy": result.accuracy}
        if result.has_spans:
            for name in ("precision", "recall", "f1"):
                scores[name] = getattr(result.overall, name)
        # A sentence with an unknown tag has no loss.
        values, sizes = np.array(losses), np.array([*map(len, self._groups)])
        known = ~np.isnan(values)
        if known.any():
            scores["loss"] = float(np.average(values[known], weights=sizes[known]))
        return scores
