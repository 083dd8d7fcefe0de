"""The language model of pretraining: an encoder and a head with the loss."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
from keras import ops

from keras_elmo.config import ElmoConfig, read_options
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.language_model_head import LanguageModelHead, predicted_pairs
from keras_elmo.text.corpus import Corpus
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.utils.checks import check_at_least, check_type, refuse
from keras_elmo.utils.keras_classes import freeze_layers, frozen_layers, keras_class
from keras_elmo.utils.one_graph import BatchGraph
from keras_elmo.utils.types import Config, DType, StrPath, Tensor

_WORDS = "vocabulary.txt"


@keras_class
class PretrainingModel(keras.Model):
    """A functional model: an `Encoder`, then a `LanguageModelHead`.

    Compile it with an optimizer and no loss, and fit it to batches of whole sentences.

    Args:
        config: the sizes.
        vocabulary_size: number of target ids.
        num_sampled: candidates of the sampled softmax.
        dtype: dtype policy of every layer.
        **kwargs: `name`.

    Call arguments:
        inputs: dictionary of `char_ids`, `(batch, tokens, ids_per_token)`, and
            `token_ids`, `(batch, tokens)`, -1 where masked; both with the
            sentence boundaries. Or `words`, `positions` and `token_ids`, as batches of
            a `Corpus` with `shapes` have them.

    Returns:
        What the head returns.

    Reference: Peters et al. 2018, section 3.1.
    """

    def __init__(
        self,
        config: ElmoConfig,
        vocabulary_size: int,
        num_sampled: int = 8192,
        dtype: DType = None,
        **kwargs: object,
    ) -> None:
        check_type(ElmoConfig, "an ElmoConfig", config=config)
        check_at_least(1, vocabulary_size=vocabulary_size, num_sampled=num_sampled)
        # === Layers ===
        encoder = Encoder(config, dtype=dtype)
        head = LanguageModelHead(
            vocabulary_size, num_sampled, config.dropout, name="head", dtype=dtype
        )

        # === Functional model ===
        inputs = {
            "char_ids": keras.Input(
                (None, config.ids_per_token), dtype="int32", name="char_ids"
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
        # The words of the target ids, to evaluate the model on text.
        self.vocabulary: Vocabulary | None = None
        self.forward_loss = keras.metrics.Mean(name="forward_loss")
        self.backward_loss = keras.metrics.Mean(name="backward_loss")
        self._exact = BatchGraph(lambda batch: self(batch, training=False))

    def __repr__(self) -> str:
        return f"PretrainingModel({self.encoder!r}, {self.vocabulary!r})"

    @property
    def input_spec(self) -> None:
        # `call` takes two kinds of dictionaries.
        return None

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor = None
    ) -> dict[str, Tensor]:
        names = set(inputs) if isinstance(inputs, dict) else set(self.input)
        if {"words", "positions", "token_ids"} <= names:
            words, positions = inputs["words"], inputs["positions"]
            top = self.encoder.of_distinct_words(words, positions, training)[-1]
            return self.head(top, inputs["token_ids"], training=training)
        if not set(self.input) <= names:
            raise ValueError(
                "`inputs` must be a dictionary of `char_ids` and `token_ids`. "
                f"Received: inputs with {sorted(names)}"
            )
        return super().call(inputs, training, mask)

    def fit(self, x: Tensor = None, *args: Any, **kwargs: Any) -> Any:
        """Trains as `keras.Model.fit` does, on batches or on a `Corpus`.

        Each epoch is the next pass over the corpus, in its own order. The number of its
        batches depends on the order, so Keras knows it at the end. With
        `steps_per_epoch`, an epoch is that many batches, and passes follow each other.
        `validation_data` may be a `Corpus`, too.

        The model takes the words and the tokenizer of the corpus, which `.keras` files
        keep.

        Raises:
            ValueError: the corpus has other words than the model, or a file is damaged.
        """
        held_out = kwargs.get("validation_data")
        if isinstance(held_out, Corpus):
            kwargs["validation_data"] = _in_order(self._take_words(held_out))
        if not isinstance(x, Corpus):
            return super().fit(x, *args, **kwargs)
        passes = self._take_words(x).dataset(epoch=None, shapes=x.choose_shapes())
        if kwargs.get("steps_per_epoch"):
            passes = passes.repeat()
        with x.own_errors(), _without_warnings():
            return super().fit(passes, *args, **{"shuffle": False, **kwargs})

    def evaluate(self, x: Tensor = None, *args: Any, **kwargs: Any) -> Any:
        """Measures as `keras.Model.evaluate` does, on batches or on a `Corpus`."""
        if not isinstance(x, Corpus):
            return super().evaluate(x, *args, **kwargs)
        with x.own_errors(), _without_warnings():
            return super().evaluate(_in_order(self._take_words(x)), *args, **kwargs)

    def _take_words(self, corpus: Corpus) -> Corpus:
        """Takes the words that are predicted, if none are known, or compares them."""
        words, size = corpus.vocabulary, self.head.vocabulary_size
        known = self.vocabulary or words
        if len(words) != size or words.words != known.words:
            refuse("x", f"a Corpus with the {size:,} words of the model", corpus)
        self.vocabulary = known
        self.encoder.tokenizer = self.encoder.tokenizer or corpus.tokenizer
        return corpus

    def save_assets(self, path: StrPath) -> None:
        """Writes the words into a folder of a `.keras` file."""
        if self.vocabulary is not None:
            self.vocabulary.save(os.path.join(path, _WORDS))

    def load_assets(self, path: StrPath | None) -> None:
        """Reads the words from a folder of a `.keras` file, if they are known."""
        words = os.path.join(path or "", _WORDS)
        if path is None or not os.path.exists(words):
            return
        vocabulary = Vocabulary.load(words)
        if len(vocabulary) != self.head.vocabulary_size:
            raise ValueError(
                f"{words}: must have {self.head.vocabulary_size:,} words. "
                f"Received: {len(vocabulary):,} words"
            )
        self.vocabulary = vocabulary

    def exact_losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Returns the losses of a batch by the exact softmax, computed on one device.

        `predict_on_batch` would compute the whole batch on every replica of a
        `tf.distribute` strategy.
        """
        if keras.backend.backend() != "tensorflow":
            return self.predict_on_batch(batch)
        return self._exact(
            {name: ops.convert_to_tensor(batch[name], "int32") for name in self.input}
        )

    def compute_metrics(
        self, x: Tensor, y: Tensor, y_pred: Tensor, sample_weight: Tensor = None
    ) -> dict[str, Tensor]:
        predicted = predicted_pairs(x["token_ids"])
        self.forward_loss.update_state(y_pred["forward"], predicted)
        self.backward_loss.update_state(y_pred["backward"], predicted)
        return self.get_metrics_result()

    def get_config(self) -> Config:
        return {
            "options": self.config.to_options(),
            "vocabulary_size": self.head.vocabulary_size,
            "num_sampled": self.head.num_sampled,
            "dtype": self.encoder.get_config()["dtype"],
            "tokenizer": self.encoder.tokenizer,
            "frozen_layers": frozen_layers(self),
            "name": self.name,
        }

    @classmethod
    def from_config(
        cls, config: Config, custom_objects: object = None
    ) -> "PretrainingModel":
        config = dict(config)
        tokenizer, frozen = config.pop("tokenizer"), config.pop("frozen_layers")
        options = read_options(config.pop("options"), "a saved model")
        model = cls(options, **config)
        model.encoder.tokenizer = tokenizer
        freeze_layers(model, frozen)
        return model


def _in_order(corpus: Corpus) -> Tensor:
    shapes = corpus.choose_shapes(measured=True)
    return corpus.dataset(shuffle=False, shapes=shapes)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hides that an epoch ends where the batches end, which Keras warns about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Your input ran out of data", UserWarning)
        yield


def build_pretraining_model(
    config: ElmoConfig,
    vocabulary_size: int,
    num_sampled: int = 8192,
    dtype: DType = None,
) -> PretrainingModel:
    """Returns a new language model, initialized as the published ones were.

    Compile it with an optimizer and no loss, and fit it to a `Corpus`. `pretrain` does
    that and more.

    Args:
        config: the sizes.
        vocabulary_size: number of target ids, the special ones included.
        num_sampled: candidates of the sampled softmax.
        dtype: dtype policy of every layer; Keras's global one if `None`.

    Returns:
        A `PretrainingModel`. It takes a dictionary of `char_ids`,
        `(batch, tokens, ids_per_token)`, and `token_ids`, `(batch, tokens)`, -1 where
        masked, and returns a dictionary of `forward` and `backward`,
        `(batch, tokens - 1)` negative log likelihoods in nats. `model.encoder` is the
        `Encoder`.

    Example:

    ```python
    config = keras_elmo.ElmoConfig.preset("tiny")
    model = keras_elmo.build_pretraining_model(config, vocabulary_size=4)
    # The ids of <S>, a word and </S>; they are predicted from each other.
    batch = {
        "char_ids": keras_elmo.CharacterIds()([["river"]]),
        "token_ids": tf.constant([[0, 3, 1]]),
    }
    losses = model(batch)
    assert losses["forward"].shape == losses["backward"].shape == (1, 2)
    ```
    """
    return PretrainingModel(config, vocabulary_size, num_sampled, dtype)
