"""A Keras model from texts to labels."""

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_elmo.downstream.layer_batches import layer_dataset
from keras_elmo.downstream.task_export import export
from keras_elmo.downstream.text_classifier_model import TextClassifierModel
from keras_elmo.files.sources import tokenizer_of
from keras_elmo.text.answers import LabelsTexts, numbers_of_words
from keras_elmo.text.batching import Tokens, batches_of_like_length
from keras_elmo.text.columns import Columns
from keras_elmo.text.labelled_texts import Text, count_labels, targets_of
from keras_elmo.text.token_lists import read_sentences
from keras_elmo.utils.checks import called, check_rate
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.types import Config, Tensor

# Texts that are split into words at a time.
_AHEAD = 512
# Batches of texts that are sorted by length together.
_WINDOW = 16


@keras_class
class TextClassifier(TextClassifierModel):
    """Labels texts by their pooled word vectors.

    Normalises ELMo's vectors, and static ones beside them if there are any, runs a
    biLSTM and pools over the words of a text. Then follow a hidden layer, if any, and a
    softmax over the labels, or with `multi_label` a sigmoid for each. The model is
    compiled: Adam(0.001), cross-entropy, accuracy.

    Args:
        encoder: an `Encoder`, or a name or path as for `load`; or an `ElmoEmbedding`,
            which becomes a part of the model.
        labels: the labels in order; by default the labels of the first `fit`, sorted.
        pooling: `"mean"`, `"max"`, or both, one after the other.
        static: a `StaticEmbedding`, or a file for `StaticEmbedding.from_file`.
        lstm_units: units in each direction of a biLSTM below the pooling; 0 for none.
        hidden: units of a hidden layer above it; 0 for none.
        dropout: rate, on word vectors and on the hidden layer, during training.
        multi_label: whether a text has any number of labels.
        pairs: whether to label pairs of texts, u and v: the layers above the pooling
            read [u; v; |u - v|; u * v].
        **kwargs: `name`.

    Attributes:
        elmo: the `ElmoEmbedding`. Its encoder is frozen and runs once for each text of
            `fit`, not in every epoch.

    Call arguments:
        inputs: text, `(batch,)` strings; for pairs, a tuple of two such tensors.

    Returns:
        `(batch, labels)` float32 probabilities, in the order of `labels`.

    Raises:
        ValueError: there is no such model or file, or a number is out of range.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    classifier = keras_elmo.TextClassifier(encoder)
    texts = ["a warm film", "a dull film", "warm and funny", "dull and long"] * 4
    labels = ["good", "bad", "good", "bad"] * 4
    classifier.fit(texts, labels, epochs=5, validation_split=0.25, verbose=0)
    assert classifier.labels == ["bad", "good"]
    assert set(classifier.predict(["a funny film"])) < {"bad", "good"}
    assert classifier.predict_proba(texts).shape == (16, 2)
    assert "accuracy" in classifier.evaluate(texts, labels)
    classifier.save("classifier.keras")
    classifier = keras.models.load_model("classifier.keras")
    ```

    Reference: for pairs, Conneau et al. 2017, Supervised Learning of Universal Sentence
    Representations from Natural Language Inference Data, section 3.
    """

    export = export

    def fit(
        self,
        texts: object,
        labels: object = None,
        *,
        validation_split: float = 0.0,
        validation_data: object = None,
        text_column: str | int | None = None,
        pair_column: str | int | None = None,
        label_column: str | int | None = None,
        epochs: int = 10,
        batch_size: int = 32,
        patience: int | None = 3,
        callbacks: object = None,
        verbose: str | int = "auto",
    ) -> keras.callbacks.History:
        """Trains the classifier and keeps the epoch with the best `val_accuracy`.

        Args:
            texts: texts or lists of words, in a list, an array, a tensor or a column of
                a data frame; with `pairs`, pairs of them, or a table of two columns. Or
                files (TSV, CSV, JSON lines) or a data frame that have the labels, too.
            labels: a string, an integer or a boolean for each text; with `multi_label`
                a list of them.
            validation_split: fraction of the texts, from the end, to score after each
                epoch and not to train on.
            validation_data: what to score instead: `(texts, labels)`, or a table.
            text_column: name, or in files without a header the place from 0 on; by
                default `text`, or the first column.
            pair_column: column of the second texts; by default `pair`, or the second.
            label_column: by default `label`, or the last column.
            epochs: greatest number of epochs.
            batch_size: number of texts in a batch.
            patience: epochs without a better score after which training stops, or
                `None`.
            callbacks: Keras callbacks.
            verbose: as in `keras.Model.fit`.

        Returns:
            The history, with `loss`, `accuracy`, `val_loss` and `val_accuracy`.

        Raises:
            ValueError: a text is empty or missing, a text has no label, a label is not
                known, all are the same, or a number is out of range.
        """
        self._check_fit(epochs, batch_size, patience, callbacks, verbose)
        check_rate(validation_split=validation_split)
        columns = Columns(text_column, pair_column, label_column)
        data = (texts, labels, validation_data, validation_split)
        parts = self._read.parts(*data, columns)
        argument = "texts" if labels is None else "labels"
        distinct = {label for row in parts[0] for label in row.labels}
        if len(distinct) < 2 - self.multi_label:
            told = f"only {next(iter(distinct))!r}" if distinct else "none"
            rule = "must have labels of two kinds at least"
            raise ValueError(f"{called(argument)} {rule}. Received: {told}")
        known = self.labels or sorted(distinct)
        if self.labels is None:
            count_labels(parts[0]).warn_of_spellings("labels", stacklevel=3)
        arguments = argument, argument if validation_data is None else "validation_data"
        targets = [
            targets_of(part, known, self.multi_label, name)
            for part, name in zip(parts, arguments, strict=False)
        ]
        if self.labels is None:
            self._set_labels(known)
        train, *validation = [
            self._prepared([row.texts for row in part], target, batch_size)
            for part, target in zip(parts, targets, strict=True)
        ]
        return self._fit(
            train,
            patience,
            callbacks,
            validation_data=validation[0] if validation else None,
            epochs=epochs,
            verbose=verbose,
        )

    def _prepared(
        self, rows: Sequence[Sequence[Text]], targets: np.ndarray, batch_size: int
    ) -> Iterable[tuple[Tensor, ...]]:
        """Returns batches for `fit`, with the layers of the frozen biLM."""
        read = self._split(rows)
        batches = (
            (self._inputs([[x[k] for k in places] for x in read]), targets[places])
            for places in _shuffled_groups(numbers_of_words(read), batch_size)
        )
        return layer_dataset(self._precomputed(batches, shuffle=True))

    def _split(self, rows: Sequence[Sequence[Text]]) -> list[list[Tokens]]:
        """Returns the words of the texts; of pairs, of the first and of the second."""
        tokenizer, columns = tokenizer_of(self.elmo.encoder), zip(*rows, strict=True)
        return [[*read_sentences(texts, tokenizer, _AHEAD)] for texts in columns]

    def _words(self, texts: object) -> list[list[Tokens]]:
        # Raises before anything is read.
        self._known()
        return self._split(self._read.texts(texts))

    def probabilities(self, *texts: Sequence[Tokens]) -> np.ndarray:
        x = self._inputs(texts, any_rows=False)
        return self.predict_on_batch(x)[: len(texts[0])]

    def evaluate(self, *args: Any, **kwargs: Any) -> Config:
        # `fit` of Keras calls it with the validation data as `x`.
        evaluates = keras.Model if "x" in kwargs else LabelsTexts
        return evaluates.evaluate(self, *args, **kwargs)

    functools.update_wrapper(evaluate, LabelsTexts.evaluate)


def _shuffled_groups(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Yields the places of texts of similar length, a batch at a time.

    Texts that are far from each other may share a batch.
    """
    # By the seed that `keras.utils.set_random_seed` sets.
    order = np.random.permutation(len(lengths)).tolist()
    for start in range(0, len(order), batch_size * _WINDOW):
        window = order[start : start + batch_size * _WINDOW]
        sizes = [lengths[place] for place in window]
        for batch in batches_of_like_length(sizes, batch_size):
            yield [window[k] for k in batch]
