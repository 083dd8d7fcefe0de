"""The model inside of a `TextClassifier`: texts to probabilities of labels."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Self

import keras
import numpy as np

from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.downstream.exported_classifier import ExportedClassifier
from keras_elmo.downstream.static_embedding import StaticEmbedding
from keras_elmo.downstream.text_ids import TextIds
from keras_elmo.text.labelled_texts import Label, label_names
from keras_elmo.utils.types import Config, Tensor


class TextClassifierModel(ExportedClassifier):
    """What `TextClassifier` says of its arguments and calls holds here."""

    elmo: ElmoEmbedding
    static: StaticEmbedding | None
    pooling: Sequence[str]
    _ids: TextIds

    def __repr__(self) -> str:
        labels = reprlib.repr(self.labels and [*self.labels])
        kinds = f"multi_label={self.multi_label}, pairs={self.pairs}"
        return f"TextClassifier(labels={labels}, {kinds})"

    def _set_labels(self, labels: object) -> None:
        self.labels = names = label_names(labels, 1 if self.multi_label else 2)
        activation = "sigmoid" if self.multi_label else "softmax"
        dense = keras.layers.Dense(len(names), activation=activation, dtype="float32")
        dense.build((None, self.text_vectors.units))
        self.output_layer = dense
        self.built = True

    def labels_of(self, probabilities: np.ndarray) -> list[Label]:
        """Returns the label of a text, or with `multi_label` any number of them.

        Args:
            probabilities: of the labels.
        """
        labels = self._known()
        if self.multi_label:
            return [labels[k] for k in np.flatnonzero(probabilities >= 0.5)]
        return [labels[int(probabilities.argmax())]]

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        # `fit` has read the text already.
        parts = inputs if isinstance(inputs, Mapping) else self._ids.of_strings(inputs)
        texts = [[parts[name] for name in names] for names in self._ids.names]
        return self.output_layer(self.text_vectors(texts, training=training))

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
    def from_config(cls, config: Config, custom_objects: object = None) -> Self:
        elmo = ElmoEmbedding.from_config(config["encoder"])
        static = config["static"]
        if static is not None:
            static = StaticEmbedding.from_config(static)
        return cls(**{**config, "encoder": elmo, "static": static})
