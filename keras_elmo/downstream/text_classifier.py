"""A Keras model from texts to labels."""

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType

import keras
import numpy as np

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.exported_classifier import ExportedClassifier
from keras_elmo.downstream.labelled_texts import (
    ExampleReader,
    Label,
    label_names,
    label_scores,
    targets_of,
)
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.text_ids import TextIds
from keras_elmo.downstream.text_vectors import TextVectors
from keras_elmo.files.sources import Source
from keras_elmo.utils.checks import (
    check_at_least,
    check_boolean,
    check_path,
    check_rate,
    check_type,
    refuse,
)
from keras_elmo.utils.fixed import fixed_arguments
from keras_elmo.utils.types import Config, StrPath, Tensor

_CALLBACKS = (keras.callbacks.Callback, list, tuple, NoneType)
_POOLS = ["mean"], ["max"], ["mean", "max"], ["max", "mean"]


@keras.saving.register_keras_serializable("keras_elmo")
@fixed_arguments
class TextClassifier(ExportedClassifier):
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

    def _set_labels(self, labels: object) -> None:
        self.labels = names = label_names(labels, 1 if self.multi_label else 2)
        activation = "sigmoid" if self.multi_label else "softmax"
        dense = keras.layers.Dense(len(names), activation=activation, dtype="float32")
        dense.build((None, self.text_vectors.units))
        self.output_layer = dense
        self.built = True

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        # `fit` has read the text already.
        parts = inputs if isinstance(inputs, Mapping) else self._ids.of_strings(inputs)
        texts = [[parts[name] for name in names] for names in self._ids.names]
        return self.output_layer(self.text_vectors(texts, training=training))

    def fit(
        self,
        texts: object,
        labels: object,
        *,
        validation_split: float = 0.0,
        validation_data: tuple[object, object] | None = None,
        epochs: int = 10,
        batch_size: int = 32,
        callbacks: object = None,
        verbose: str | int = "auto",
    ) -> keras.callbacks.History:
        """Trains the classifier.

        Args:
            texts: texts or lists of words, in a list, an array, a tensor or a column of
                a data frame; with `pairs`, pairs of them, or a table of two columns.
            labels: a string, an integer or a boolean for each text; with `multi_label`
                a list of them.
            validation_split: the share of the texts, the last ones, that are scored
                after each epoch and not trained on.
            validation_data: texts and labels that are scored instead.
            epochs: number of passes over the texts.
            batch_size: number of texts of a step.
            callbacks: such as `keras.callbacks.EarlyStopping`.
            verbose: as of `keras.Model.fit`.

        Returns:
            The history, with `loss`, `accuracy`, `val_loss` and `val_accuracy`.

        Raises:
            ValueError: a text is empty or missing, a text has no label, a label is not
                known, all are the same, or a number is out of range.
        """
        check_at_least(1, epochs=epochs, batch_size=batch_size)
        check_rate(validation_split=validation_split)
        if verbose not in ("auto", 0, 1, 2):
            refuse("verbose", "'auto', 0, 1 or 2", verbose)
        check_type(_CALLBACKS, "callbacks of Keras", callbacks=callbacks)
        parts = self._read.parts(texts, labels, validation_data, validation_split)
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
        return super().fit(
            train,
            validation_data=validation[0] if validation else None,
            epochs=epochs,
            callbacks=callbacks,
            verbose=verbose,
            # The batches shuffle themselves.
            shuffle=False,
        )

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
        rows, labels = self.predict_proba(texts, batch_size), self._known()
        if self.multi_label:
            return [[labels[k] for k in np.flatnonzero(row >= 0.5)] for row in rows]
        return [labels[k] for k in rows.argmax(axis=1)]

    def evaluate(
        self,
        texts: object = None,
        labels: object = None,
        batch_size: int = 32,
        **kwargs: object,
    ) -> dict[str, object]:
        """Compares predicted labels with the right ones.

        Args:
            texts: as of `fit`.
            labels: as of `fit`.
            batch_size: number of texts that are computed together.

        Returns:
            `accuracy`, the share of the texts with the right label, or with all of them
            and no other; `micro_f1`, of all labels together; `macro_f1`, the mean over
            the labels; and `by_label`, with the precision, recall and F1 of each.
        """
        if "x" in kwargs:
            # `fit` of Keras calls it so, with the validation data.
            return super().evaluate(batch_size=batch_size, **kwargs)
        examples = self._read.examples(texts, labels)
        targets_of(examples, self._known(), self.multi_label)
        predicted = self.predict(texts, batch_size)
        return label_scores(examples.labels, self._read.labels(predicted))

    def get_config(self) -> Config:
        names = ("lstm_units", "hidden", "dropout", "multi_label", "pairs", "name")
        return {
            "encoder": self.elmo.get_config(),
            "labels": self.labels and list(self.labels),
            "pooling": list(self.pooling),
            "static": self.static and self.static.get_config(),
            **{name: getattr(self, name) for name in names},
        }

    @classmethod
    def from_config(
        cls, config: Config, custom_objects: object = None
    ) -> "TextClassifier":
        elmo = ElmoEmbedding.from_config(config["encoder"])
        static = config["static"]
        if static is not None:
            static = StaticEmbedding.from_config(static)
        return cls(**{**config, "encoder": elmo, "static": static})
