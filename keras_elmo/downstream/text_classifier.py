"""A Keras model from texts to labels."""

from collections.abc import Iterable, Sequence
from types import NoneType

import keras
import numpy as np

from keras_elmo.downstream.best_epoch import BestEpoch
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.text_classifier_model import TextClassifierModel
from keras_elmo.downstream.text_ids import TextIds
from keras_elmo.downstream.text_vectors import TextVectors
from keras_elmo.files.sources import Source
from keras_elmo.text.evaluation import evaluate_labels
from keras_elmo.text.labelled_texts import (
    ExampleReader,
    Label,
    targets_of,
)
from keras_elmo.text.table_rows import Columns
from keras_elmo.utils.checks import (
    check_at_least,
    check_boolean,
    check_path,
    check_rate,
    check_type,
    refuse,
)
from keras_elmo.utils.fixed import fixed_arguments
from keras_elmo.utils.types import StrPath

_CALLBACKS = (keras.callbacks.Callback, list, tuple, NoneType)
_POOLS = ["mean"], ["max"], ["mean", "max"], ["max", "mean"]


@keras.saving.register_keras_serializable("keras_elmo")
@fixed_arguments
class TextClassifier(TextClassifierModel):
    """Labels of texts, by their pooled word vectors.

    The vectors of ELMo, and static ones beside them if there are, are normalised, pass
    a biLSTM, and are pooled over the words of a text. Then follow a hidden layer if
    asked for, and a softmax over the labels, or with `multi_label` a sigmoid for each.
    The model is compiled: Adam(0.001), cross-entropy, accuracy.

    Args:
        encoder: the biLM: a name or path as of `load`, an `Encoder`, or an
            `ElmoEmbedding`, which becomes a part of the model.
        labels: the labels in their order; by default those of the first `fit`, sorted.
        pooling: `"mean"`, `"max"`, or both, of which the results are joined.
        static: a `StaticEmbedding`, or a file as of `StaticEmbedding.from_file`.
        lstm_units: units in each direction of a biLSTM below the pooling; 0 for none.
        hidden: units of a hidden layer above it; 0 for none.
        dropout: rate, on word vectors and on the hidden layer, while training.
        multi_label: whether a text has any number of labels.
        pairs: whether an item is a pair of texts, u and v: the layers above the pooling
            see [u; v; |u - v|; u * v].
        **kwargs: `name`.

    Attributes:
        elmo: the `ElmoEmbedding`, whose encoder is frozen and computes a text once for
            all epochs of `fit`.

    Call arguments:
        inputs: text, `(batch,)` strings; of pairs, a tuple of two such tensors.

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

    def __init__(
        self,
        encoder: Source,
        labels: Iterable[Label] | None = None,
        pooling: str | Sequence[str] = ("mean", "max"),
        static: StaticEmbedding | StrPath | None = None,
        lstm_units: int = 64,
        hidden: int = 0,
        dropout: float = 0.5,
        multi_label: bool = False,
        pairs: bool = False,
        **kwargs: object,
    ) -> None:
        check_at_least(0, lstm_units=lstm_units, hidden=hidden)
        check_rate(dropout=dropout)
        check_boolean(multi_label=multi_label, pairs=pairs)
        pools = [pooling] if isinstance(pooling, str) else pooling
        if not isinstance(pools, list | tuple) or list(pools) not in _POOLS:
            refuse("pooling", "'mean', 'max' or both", pooling)
        super().__init__(**kwargs)
        elmo = encoder if isinstance(encoder, ElmoEmbedding) else ElmoEmbedding(encoder)
        if elmo.num_representations > 1 or elmo.keep_boundaries:
            refuse("encoder", "a layer of one mix, without boundaries", encoder)
        if static is not None and not isinstance(static, StaticEmbedding):
            check_path(static=static)
            static = StaticEmbedding.from_file(static)
        self.elmo = elmo
        self.static = static
        self.pooling = list(pools)
        self.lstm_units = lstm_units
        self.hidden = hidden
        self.dropout = dropout
        self.multi_label = multi_label
        self.pairs = pairs
        self.text_vectors = TextVectors(
            *(elmo, static, self.pooling, lstm_units, hidden, dropout, pairs)
        )
        self._ids = TextIds(elmo, static, pairs)
        self._read = ExampleReader(pairs, multi_label)
        if labels is not None:
            self._set_labels(labels)
        kind = "Binary" if multi_label else "SparseCategorical"
        loss = getattr(keras.losses, f"{kind}Crossentropy")()
        accuracy = getattr(keras.metrics, f"{kind}Accuracy")(name="accuracy")
        self.compile(keras.optimizers.Adam(1e-3), loss, metrics=[accuracy])

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
        """Trains the classifier, and keeps the weights of the best epoch.

        The best epoch has the greatest `val_accuracy`, if texts are scored.

        Args:
            texts: texts or lists of words, in a list, an array, a tensor or a column of
                a data frame; with `pairs`, pairs of them, or a table of two columns. Or
                files (TSV, CSV, JSON lines) or a data frame, with the labels.
            labels: a string, an integer or a boolean for each text; with `multi_label`
                a list of them.
            validation_split: the share of the texts, the last ones, that are scored
                after each epoch and not trained on.
            validation_data: what is scored instead: `(texts, labels)`, or a table.
            text_column: name, or in files without a header the place from 0 on; by
                default `text`, or the first column.
            pair_column: of the second texts; by default `pair`, or the second column.
            label_column: by default `label`, or the last column.
            epochs: greatest number of passes over the texts.
            batch_size: number of texts of a step.
            patience: epochs without a better score after which training stops, or
                `None`.
            callbacks: such as `keras.callbacks.ReduceLROnPlateau`.
            verbose: as of `keras.Model.fit`.

        Returns:
            The history, with `loss`, `accuracy`, `val_loss` and `val_accuracy`.

        Raises:
            ValueError: a text is empty or missing, a text has no label, a label is not
                known, all are the same, or a number is out of range.
        """
        check_at_least(1, epochs=epochs, batch_size=batch_size)
        if patience is not None:
            check_at_least(1, patience=patience)
        check_rate(validation_split=validation_split)
        if verbose not in ("auto", 0, 1, 2):
            refuse("verbose", "'auto', 0, 1 or 2", verbose)
        check_type(_CALLBACKS, "callbacks of Keras", callbacks=callbacks)
        columns = Columns(text_column, pair_column, label_column)
        given = (texts, labels, validation_data, validation_split)
        parts = self._read.parts(*given, columns)
        distinct = {label for row in parts[0].labels for label in row}
        if len(distinct) < 2 - self.multi_label:
            refuse("labels", "of two kinds at least", labels)
        known = self.labels or sorted(distinct)
        targets = [targets_of(part, known, self.multi_label) for part in parts]
        if self.labels is None:
            self._set_labels(known)
        train, *validation = [
            self._ids.precomputed(part.texts, target, batch_size)
            for part, target in zip(parts, targets, strict=True)
        ]
        best = BestEpoch(patience)
        try:
            return super().fit(
                train,
                validation_data=validation[0] if validation else None,
                epochs=epochs,
                callbacks=[
                    *([best] if validation else []),
                    *keras.tree.flatten(callbacks or ()),
                ],
                verbose=verbose,
                # The batches shuffle themselves.
                shuffle=False,
            )
        finally:
            best.restore()

    def predict_proba(self, texts: object, batch_size: int = 32) -> np.ndarray:
        """Returns the probabilities of the labels.

        Args:
            texts: as of `fit`.
            batch_size: number of texts that are computed together.

        Returns:
            `(texts, labels)` float32 array, in the order of `labels`.
        """
        check_at_least(1, batch_size=batch_size)
        columns = self._read.texts(texts)
        probabilities = np.zeros((len(columns[0]), len(self._known())), "float32")
        for places, inputs in self._ids.batches(columns, batch_size):
            probabilities[places] = self.predict_on_batch(inputs)
        return probabilities

    def predict(
        self, texts: object, batch_size: int = 32
    ) -> list[Label] | list[list[Label]]:
        """Returns the most likely label of each text.

        With `multi_label`, a list of the labels whose probability is 0.5 or more.

        Args:
            texts: as of `fit`.
            batch_size: number of texts that are computed together.
        """
        labels = map(self.labels_of, self.predict_proba(texts, batch_size))
        return list(labels) if self.multi_label else [label for (label,) in labels]

    def evaluate(
        self,
        texts: object = None,
        labels: object = None,
        *,
        text_column: str | int | None = None,
        pair_column: str | int | None = None,
        label_column: str | int | None = None,
        batch_size: int = 32,
        **kwargs: object,
    ) -> dict[str, object]:
        """Compares predicted labels with the right ones.

        Args:
            texts: as of `fit`.
            labels: as of `fit`.
            text_column: as of `fit`.
            pair_column: as of `fit`.
            label_column: as of `fit`.
            batch_size: number of texts that are computed together.

        Returns:
            `accuracy`, the share of the texts with the right label, or with all of them
            and no other; `micro_f1`, of all labels together; `macro_f1`, the mean over
            the labels; and `by_label`, with the precision, recall and F1 of each.
        """
        if "x" in kwargs:
            # `fit` of Keras calls it so, with the validation data.
            return super().evaluate(batch_size=batch_size, **kwargs)
        columns = Columns(text_column, pair_column, label_column)
        right = self._read.examples(texts, labels, columns=columns)

        def predict(texts: object) -> object:
            return self.predict(texts, batch_size)

        return evaluate_labels(predict, self._known(), self._read, right)
