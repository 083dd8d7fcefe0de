"""What a tagger and a classifier answer, whatever computes the numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from keras_elmo.text.batching import Tokens, batches_of_like_length, split_stream
from keras_elmo.text.columns import Columns
from keras_elmo.text.labelled_files import LabelledText
from keras_elmo.text.labelled_texts import ExampleReader, Label, targets_of
from keras_elmo.text.plain_tokenizer import PlainTokenizer
from keras_elmo.text.tag_scores import TagScores, label_scores
from keras_elmo.text.tagged_sentences import (
    in_scheme_of,
    tagged_sentences,
    warn_of_unknown,
    words_of,
)
from keras_elmo.text.token_lists import Sentence, read_sentences
from keras_elmo.utils.checks import check_at_least
from keras_elmo.utils.types import Config, Tensor

Sentences: TypeAlias = Iterable[Sentence] | Tensor
# Texts, and labels or tags, as the models take and return them.
Data: TypeAlias = Any
# The words of a sentence, and each output for them.
Row: TypeAlias = tuple[list[str], list[np.ndarray]]
# Words, and batches, of sentences that are sorted by length together.
_WINDOW_WORDS, _WINDOW_BATCHES = 2**14, 16


class TagsSentences:
    """The methods of a tagger that return tags and probabilities."""

    tags: Data

    def _splitter(self) -> str | PlainTokenizer:
        """Returns what splits texts into words."""
        raise NotImplementedError

    def _computed(
        self, window: Sequence[Tokens], batch_size: int, outputs: Sequence[str]
    ) -> Sequence[Sequence[np.ndarray]]:
        """Returns outputs for each sentence: `"tags"`, indices, and `"marginals"`.

        These are `(words, tags)`; both may be longer.
        """
        raise NotImplementedError

    def predict(self, sentences: Sentences, batch_size: int = 64) -> list[list[str]]:
        """Returns one tag for each word of each sentence.

        Args:
            sentences: lists of words, or texts, which are split as the training text
                was, in any form that `embed` takes.
            batch_size: greatest number of sentences in a batch.

        Raises:
            TypeError: a sentence is neither a text nor a list of words.
            ValueError: the tagger has no tags yet, or an empty word precedes another.
        """
        return [tags for _, tags in self.tag(sentences, batch_size)]

    def tag(
        self, sentences: Sentences, batch_size: int = 64
    ) -> Iterator[tuple[list[str], list[str]]]:
        """Yields the words and the tags of each sentence, of a stream of any length.

        Args:
            sentences: see `predict`; up to 16 batches are read ahead.
            batch_size: greatest number of sentences in a batch.
        """
        rows, tags = self._read(sentences, batch_size, "tags"), self.tags
        return ((words, [tags[k] for k in row.tolist()]) for words, (row,) in rows)

    def marginals(
        self, sentences: Sentences, batch_size: int = 64
    ) -> Iterator[tuple[list[str], np.ndarray]]:
        """Yields the words and the probabilities of all tags of each sentence.

        Args:
            sentences: see `predict`.
            batch_size: greatest number of sentences in a batch.

        Yields:
            The words, and a float32 array `(words, tags)`, in the order of `tags`. With
            a CRF, a probability sums over all paths through a tag.
        """
        rows = self._read(sentences, batch_size, "marginals")
        return ((words, row) for words, (row,) in rows)

    def tags_and_marginals(
        self, sentences: Sentences, batch_size: int = 64
    ) -> Iterator[tuple[list[str], list[str], np.ndarray]]:
        """Yields what `tag` and `marginals` do, by one pass of the biLM.

        Args:
            sentences: see `predict`.
            batch_size: greatest number of sentences in a batch.
        """
        rows, names = self._read(sentences, batch_size, "tags", "marginals"), self.tags
        return (
            (words, [names[k] for k in tags.tolist()], marginals)
            for words, (tags, marginals) in rows
        )

    def evaluate(
        self,
        x: Data,
        y: Data = None,
        column: str | int | None = None,
        batch_size: int = 64,
    ) -> Config:
        """Compares predicted tags with the right ones.

        Counts spans as conlleval does, in any scheme: a span is right if both ends and
        the type are. If the tags mark no spans, each word is one.

        Args:
            x: see `Tagger.fit`.
            y: see `Tagger.fit`.
            column: see `Tagger.fit`.
            batch_size: greatest number of sentences in a batch.

        Returns:
            `accuracy`, `precision`, `recall` and `f1`, from 0 to 1; the numbers of
            `tokens`, and of spans that are `correct`, `predicted` and in the
            `reference`; and `by_type` the same for each type.
        """
        sentences = tagged_sentences(x, y, column)
        tags = self.tags or ()
        sentences = in_scheme_of(tags, sentences)
        predicted = self.predict(words_of(sentences), batch_size)
        warn_of_unknown(sentences, tags)
        right = (row.tags for row in sentences)
        return TagScores(right, predicted, tags).as_dict()

    def _read(
        self, sentences: Sentences, batch_size: int, *outputs: str
    ) -> Iterator[Row]:
        check_at_least(1, batch_size=batch_size)
        read = read_sentences(sentences, self._splitter(), max_ahead=batch_size)
        most = _WINDOW_BATCHES * batch_size
        return (
            (
                [word.decode(errors="replace") for word in words],
                [values[: len(words)] for values in row],
            )
            for window in split_stream(read, len, _WINDOW_WORDS, most)
            for words, row in zip(
                window, self._computed(window, batch_size, outputs), strict=True
            )
        )


class LabelsTexts:
    """The methods of a classifier that return labels."""

    labels: Data
    multi_label: bool
    pairs: bool
    # The most positions of a batch that is padded.
    _max_positions = 16_384

    def _words(self, texts: Data) -> list[list[Tokens]]:
        """Returns the words of texts; of pairs, of the first ones and the second."""
        raise NotImplementedError

    def probabilities(self, *texts: Sequence[Tokens]) -> np.ndarray:
        """Returns `(texts, labels)` of one batch; of pairs, of two lists of words."""
        raise NotImplementedError

    def predict_proba(self, texts: Data, batch_size: int = 32) -> np.ndarray:
        """Returns the probabilities of the labels.

        Args:
            texts: see `TextClassifier.fit`.
            batch_size: number of texts in a batch.

        Returns:
            `(texts, labels)` float32 array, in the order of `labels`.
        """
        check_at_least(1, batch_size=batch_size)
        read = self._words(texts)
        lengths = numbers_of_words(read)
        rows = np.zeros((len(lengths), len(self.labels)), "float32")
        most = self._max_positions
        for places in batches_of_like_length(lengths, batch_size, most):
            rows[places] = self.probabilities(*([x[k] for k in places] for x in read))
        return rows

    def predict(self, texts: Data, batch_size: int = 32) -> Data:
        """Returns the most likely label of each text.

        With `multi_label`, a list of the labels whose probability is 0.5 or more.

        Args:
            texts: see `TextClassifier.fit`.
            batch_size: number of texts in a batch.
        """
        labels = list(map(self.labels_of, self.predict_proba(texts, batch_size)))
        return labels if self.multi_label else [label for (label,) in labels]

    def evaluate(
        self,
        texts: Data,
        labels: Data = None,
        *,
        text_column: str | int | None = None,
        pair_column: str | int | None = None,
        label_column: str | int | None = None,
        batch_size: int = 32,
    ) -> Config:
        """Compares predicted labels with the right ones.

        Args:
            texts: see `TextClassifier.fit`.
            labels: see `TextClassifier.fit`.
            text_column: see `TextClassifier.fit`.
            pair_column: see `TextClassifier.fit`.
            label_column: see `TextClassifier.fit`.
            batch_size: number of texts in a batch.

        Returns:
            `accuracy`, the fraction of texts with exactly the right labels; `micro_f1`
            over all labels together; `macro_f1`, the mean over the labels; and
            `by_label`, with precision, recall and F1.
        """
        columns = Columns(text_column, pair_column, label_column)
        reader = ExampleReader(self.pairs, self.multi_label)
        rows = self._as_known(reader.labelled(texts, labels, columns=columns))
        argument = "texts" if labels is None else "labels"
        targets_of(rows, self._known(), self.multi_label, argument)
        read = [row.texts if self.pairs else row.texts[0] for row in rows]
        predicted = self.predict(read, batch_size)
        guessed = predicted if self.multi_label else [[label] for label in predicted]
        return label_scores([row.labels for row in rows], guessed)

    def _known(self) -> list[Label]:
        """Returns the labels, which training may have to find first."""
        if self.labels is None:
            raise ValueError("a TextClassifier without `labels` must be trained first")
        return self.labels

    def _as_known(self, rows: list[LabelledText]) -> list[LabelledText]:
        """Returns texts with labels of the type that the model has."""
        return rows

    def labels_of(self, probabilities: np.ndarray) -> Data:
        """Returns the label of a text, or with `multi_label` any number of them.

        Args:
            probabilities: `(labels,)` array.
        """
        if self.multi_label:
            return [self.labels[k] for k in np.flatnonzero(probabilities >= 0.5)]
        return [self.labels[probabilities.argmax()]]


def numbers_of_words(read: Sequence[Sequence[Tokens]]) -> list[int]:
    """Returns the number of words of each text, or of each pair of them."""
    return [sum(map(len, texts)) for texts in zip(*read, strict=True)]
