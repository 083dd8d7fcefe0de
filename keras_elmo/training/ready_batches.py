"""The batches of a run that were made elsewhere."""

from typing import Any

from keras_elmo.files.directory import PretrainingDirectory
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import is_text
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training.text import shards


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
        recipe: what has to be the same when a run goes on.

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
        self.recipe: dict[str, Any] = {
            "kind_of_corpus": "batches",
            "tokenizer": None,
            "validation": None,
        }
        if isinstance(corpus, Corpus):
            self.vocabulary = corpus.vocabulary
            self.recipe |= {
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
            self.recipe |= {
                "validation.tokenizer": validation.tokenizer,
                "validation.max_tokens": validation.max_tokens,
                "validation": shards(validation.files),
            }
        self.num_target_ids = _num_target_ids(self.vocabulary, vocabulary_size)
        self.recipe["vocabulary_size"] = self.num_target_ids

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
