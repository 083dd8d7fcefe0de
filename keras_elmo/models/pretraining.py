"""The language model that is trained on text: an encoder and its loss."""

from typing import Any

import keras
from keras import ops

from keras_elmo.config import MAX_CHARACTERS, ElmoConfig
from keras_elmo.models.encoder import Encoder, read_options
from keras_elmo.models.language_model_head import PADDING_ID, LanguageModelHead
from keras_elmo.optional import import_tensorflow
from keras_elmo.text.vocabulary import Vocabulary


@keras.saving.register_keras_serializable("keras_elmo")
class PretrainingModel(keras.Model):
    """A functional model of an `Encoder` and a `LanguageModelHead`.

    Compile it with an optimizer and no loss, and fit it to batches of whole sentences.

    Args:
        config: the sizes.
        vocabulary_size: number of target ids.
        num_sampled: candidates of the sampled softmax.
        dtype: dtype policy of every layer.
        **kwargs: `name`.

    Call arguments:
        inputs: dictionary of `char_ids`, `(batch, tokens, 50)`, and `token_ids`,
            `(batch, tokens)`, -1 where masked; both with the sentence boundaries.

    Returns:
        What the head returns.

    Reference: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self,
        config: ElmoConfig,
        vocabulary_size: int,
        num_sampled: int = 8192,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        # === Layers ===
        encoder = Encoder(config, dtype=dtype)
        head = LanguageModelHead(
            vocabulary_size, num_sampled, config.dropout, name="head", dtype=dtype
        )

        # === Functional model ===
        inputs = {
            "char_ids": keras.Input(
                (None, MAX_CHARACTERS), dtype="int32", name="char_ids"
            ),
            "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        }
        top = encoder(inputs["char_ids"])[-1]
        outputs = head(top, inputs["token_ids"])
        super().__init__(
            inputs=inputs, outputs=outputs, **{"name": "pretraining_model", **kwargs}
        )

        # === Config ===
        self.encoder = encoder
        self.head = head
        self.config = config
        # The words behind the target ids, for whoever evaluates the model on text.
        self.vocabulary: Vocabulary | None = None
        self.forward_loss = keras.metrics.Mean(name="forward_loss")
        self.backward_loss = keras.metrics.Mean(name="backward_loss")
        self._exact: Any = None

    def exact_losses(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Returns what the head does, by the exact softmax, computed on one device.

        `predict_on_batch` would give every replica of a `tf.distribute` strategy the
        whole batch.
        """
        if keras.backend.backend() != "tensorflow":
            return self.predict_on_batch(batch)
        if self._exact is None:
            tf = import_tensorflow("Computing losses on TensorFlow")
            # One graph for batches of all shapes.
            signature = {
                name: tf.TensorSpec(each.shape, each.dtype)
                for name, each in self.input.items()
            }
            self._exact = tf.function(
                lambda batch: self(batch, training=False),
                input_signature=[signature],
                autograph=False,
            )
        return self._exact(
            {name: ops.convert_to_tensor(batch[name], "int32") for name in self.input}
        )

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        predicted = _predicted(x["token_ids"])
        self.forward_loss.update_state(y_pred["forward"], predicted)
        self.backward_loss.update_state(y_pred["backward"], predicted)
        return self.get_metrics_result()

    def count_predictions(self, token_ids: Any) -> Any:
        """Returns how many tokens a direction predicts of a batch."""
        return ops.sum(_predicted(token_ids))

    def get_config(self) -> dict[str, Any]:
        return {
            "options": self.config.to_options(),
            "vocabulary_size": self.head.vocabulary_size,
            "num_sampled": self.head.num_sampled,
            "dtype": self.encoder.get_config()["dtype"],
            "tokenizer": self.encoder.tokenizer,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        config = dict(config)
        tokenizer = config.pop("tokenizer", None)
        model = cls(read_options(config.pop("options")), **config)
        model.encoder.tokenizer = tokenizer
        return model


def _predicted(token_ids: Any) -> Any:
    return ops.cast(token_ids[:, 1:] != PADDING_ID, "float32")


def build_pretraining_model(
    config: ElmoConfig, vocabulary_size: int, num_sampled: int = 8192, dtype: Any = None
) -> Any:
    """Returns a `PretrainingModel` with the published initial weights.

    Args:
        config: the sizes.
        vocabulary_size: number of target ids, the special ones included.
        num_sampled: candidates of the sampled softmax.
        dtype: dtype policy of every layer; Keras's global one if `None`.
    """
    return PretrainingModel(config, vocabulary_size, num_sampled, dtype)
