"""The text of a run: what it is trained on and what it is validated with."""

import os
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import Files, is_text
from keras_elmo.text.stats import CorpusStats
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training.run_directory import readable_path


class TrainingText:
    """Text files to train on and to validate with, read in one way.

    Args:
        corpus: paths or patterns of the text to train on.
        validation: of the held-out text, or `None`.
        tokenizer: what cuts both into words.
        batch_tokens: positions of a batch.
        max_tokens: positions of a row, its two boundaries included.
        seed: of the order.
        share: which of how many equal parts of the corpus is read.

    Attributes:
        manifest: what has to be the same when a run goes on.

    Raises:
        ValueError: no file matches, there is no text, or a size cannot be; or
            `validation` is no text.
    """

    def __init__(
        self,
        corpus: Files,
        validation: Files | None,
        tokenizer: str,
        batch_tokens: int,
        max_tokens: int,
        seed: int,
        share: tuple[int, int],
    ) -> None:
        if validation is not None and not is_text(validation):
            raise ValueError(
                "`validation` must be text files, as `corpus` is. "
                f"Received: validation={validation!r}"
            )
        self._files = corpus
        self._validation = validation
        self._share = share
        self._options = (tokenizer, batch_tokens, max_tokens, seed)
        # Without words yet: what is wrong is said before they are counted.
        trained, held_out = self._corpora(Vocabulary(SPECIALS))
        self.manifest: dict[str, Any] = {
            "kind_of_corpus": "text",
            "tokenizer": tokenizer,
            "batch_tokens": batch_tokens,
            "max_tokens": max_tokens,
            "corpus": shards(trained.files),
            "validation": held_out and shards(held_out.files),
        }

    def open(
        self, files: PretrainingDirectory
    ) -> tuple[Vocabulary, Corpus, Corpus | None]:
        """Returns the words of a run, what to train on and what to validate with."""
        vocabulary = files.read_vocabulary()
        return vocabulary, *self._corpora(vocabulary)

    def _corpora(self, vocabulary: Vocabulary) -> tuple[Corpus, Corpus | None]:
        return (
            Corpus(self._files, vocabulary, *self._options, share=self._share),
            None
            if self._validation is None
            else Corpus(self._validation, vocabulary, *self._options),
        )

    def count_words(
        self, max_size: int, max_distinct: int, report: CorpusStats, progress: bool
    ) -> Vocabulary:
        """Returns the vocabulary of the whole corpus."""
        return Vocabulary.count(
            self._files,
            self._options[0],
            max_size=max_size,
            max_distinct=max_distinct,
            progress=progress,
            report=report,
        )


def shards(paths: list[str]) -> list[list[Any]]:
    """Returns the names and sizes of the files, in the order they are read in.

    Without their folder: a run may go on where the text lies elsewhere.
    """
    return [
        [readable_path(os.path.basename(path)), os.path.getsize(path)] for path in paths
    ]


class ReadyBatches:
    """Ready-made batches, or a `Corpus`, to train on and to validate with.

    Args:
        corpus: to train on.
        validation: to validate with, or `None`.
        vocabulary_size: the number of target ids; that of the words of a `Corpus`, if
            `None`.

    Attributes:
        vocabulary: the words of a `Corpus`; `None`, where the ids alone are known.
        num_target_ids: how many different ones there may be.
        manifest: what has to be the same when a run goes on.

    Raises:
        ValueError: the number of target ids is not known, or not that of the words; or
            `validation` is text, or has other words.
    """

    def __init__(
        self, corpus: Any, validation: Any, vocabulary_size: int | None
    ) -> None:
        if validation is not None and is_text(validation):
            raise ValueError(
                "`validation` must be batches or a Corpus, as `corpus` is. "
                f"Received: validation={validation!r}"
            )
        self._corpus = corpus
        self._validation = validation
        self.vocabulary: Vocabulary | None = None
        self.manifest: dict[str, Any] = {
            "kind_of_corpus": "batches",
            "tokenizer": None,
            "validation": None,
        }
        if isinstance(corpus, Corpus):
            self.vocabulary = corpus.vocabulary
            self.manifest |= {
                "kind_of_corpus": "a Corpus",
                "tokenizer": corpus.tokenizer,
                "corpus.batch_tokens": corpus.batch_tokens,
                "corpus.max_tokens": corpus.max_tokens,
                "corpus.seed": corpus.seed,
                "corpus": shards(corpus.files),
            }
        if isinstance(validation, Corpus):
            words = validation.vocabulary.words
            if self.vocabulary is not None and words != self.vocabulary.words:
                raise ValueError("`validation` must have the vocabulary of `corpus`")
            self.manifest |= {
                "validation.tokenizer": validation.tokenizer,
                "validation.max_tokens": validation.max_tokens,
                "validation": shards(validation.files),
            }
        self.num_target_ids = _num_target_ids(self.vocabulary, vocabulary_size)
        self.manifest["vocabulary_size"] = self.num_target_ids

    def open(self, files: PretrainingDirectory) -> tuple[Vocabulary | None, Any, Any]:
        """Returns the words of a run, what to train on and what to validate with.

        Raises:
            ValueError: the run predicts other words.
        """
        if self.vocabulary is not None:
            if files.read_vocabulary().words != self.vocabulary.words:
                raise ValueError(
                    f"`corpus` must have the words of {files.vocabulary}, with which "
                    "the run began"
                )
        return self.vocabulary, self._corpus, self._validation


def _num_target_ids(words: Vocabulary | None, given: int | None) -> int:
    if words is None:
        if given is None:
            raise ValueError(
                "`vocabulary_size` must be the number of target ids, where `corpus` is "
                "batches. Received: vocabulary_size=None"
            )
        return given
    if given not in (None, len(words)):
        raise ValueError(
            f"`vocabulary_size` must be {len(words)}, the words of `corpus`, or None. "
            f"Received: vocabulary_size={given}"
        )
    return len(words)


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
