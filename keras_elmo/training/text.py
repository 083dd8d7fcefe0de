"""The text of a run: what it is trained on and what it is validated with."""

import os
from typing import Any

from keras_elmo.files.directory import PretrainingDirectory
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.lines import Files, is_text
from keras_elmo.text.report import Report
from keras_elmo.text.vocabulary import SPECIALS, Vocabulary
from keras_elmo.training.recipe import readable


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
        recipe: what has to be the same when a run goes on.

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
        self.recipe: dict[str, Any] = {
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
        self, max_size: int, max_distinct: int, report: Report, progress: bool
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
    return [[readable(os.path.basename(path)), os.path.getsize(path)] for path in paths]
