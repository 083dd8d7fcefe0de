"""The batches of a run, pass after pass, from any position."""

from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any

from keras_elmo.text.corpus import Corpus

Batch = dict[str, Any]


class Batches:
    """Iterates over a corpus until `epochs` passes are over, and knows where it is.

    Args:
        corpus: a `Corpus`, whose passes differ in order, or ready-made batches, which
            repeat.
        epochs: passes, or `None` for no end.
        epoch: the pass to begin in.
        batch: the first batch of that pass.
    """

    def __init__(
        self,
        corpus: Corpus | Iterable[Batch],
        epochs: int | None = None,
        epoch: int = 0,
        batch: int = 0,
    ) -> None:
        self._corpus = corpus
        self._epochs = epochs
        self.epoch = epoch
        self.batch = batch

    def __iter__(self) -> Iterator[Batch]:
        for epoch in (
            count(self.epoch)
            if self._epochs is None
            else range(self.epoch, self._epochs)
        ):
            # Not at the end of a pass: a run that ends with one is not to repeat it.
            if epoch > self.epoch:
                self.epoch, self.batch = epoch, 0
            empty = self.batch == 0
            for batch in self._one_pass(epoch, skip=self.batch):
                empty = False
                self.batch += 1
                yield batch
            if empty:
                raise ValueError("`corpus` must hold a sentence. Received: no batch")

    def _one_pass(self, epoch: int, skip: int) -> Iterator[Batch]:
        if isinstance(self._corpus, Corpus):
            return self._corpus.batches(epoch, skip=skip)
        return islice(self._corpus, skip, None)
