"""What both directions of a language model expect at the places of a sentence."""

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from keras import ops

from keras_elmo.embedding.embedder import Embedder
from keras_elmo.embedding.word_cache import as_float32
from keras_elmo.files.loading import open_model
from keras_elmo.files.sources import Source, tokenizer_of
from keras_elmo.text.vocabulary import SPECIALS, UNKNOWN, Vocabulary
from keras_elmo.utils.checks import called, received
from keras_elmo.words.token_vectors import normalize


class Predictions:
    """A language model that is asked for the words at a place of a sentence."""

    def __init__(self, model: Source, tokenizer: str | None = None) -> None:
        model = open_model(model).language_model()
        if model.vocabulary is None:
            raise ValueError(
                f"{called('model')} must have a vocabulary. "
                + received(model=model.name)
            )
        self.vocabulary = model.vocabulary
        self.tokenizer = tokenizer_of(model.encoder, tokenizer)
        self._embedder = Embedder(model.encoder)
        self._top = np.eye(model.config.num_layers + 1, dtype="float32")[-1]
        softmax = model.head.softmax
        self._kernel = as_float32(ops.convert_to_numpy(softmax.kernel)).T
        self._bias = as_float32(ops.convert_to_numpy(softmax.bias))
        self._log_prior = log_prior(self.vocabulary)
        # Of `<UNK>`, which is any unknown word, one is as frequent as the rarest known.
        self.log_share = min(0.0, self._log_prior[-1] - self._log_prior[UNKNOWN])

    def states(
        self, sentences: Iterable[list[str]], batch_size: int = 1
    ) -> Iterator[np.ndarray]:
        """Yields the top layer of each sentence with its boundaries."""
        return self._embedder.embed(
            sentences, batch_size, self._top, keep_boundaries=True
        )

    def of_directions(self, states: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Returns each direction's log probabilities, `(2, places, vocabulary)`.

        Neither direction sees the token at a place, which counts the boundaries.
        """
        units = states.shape[1] // 2
        before, after = states[places - 1], states[(places + 1) % len(states)]
        hidden = np.stack([before[:, :units], after[:, units:]])
        return log_softmax(hidden @ self._kernel + self._bias)

    def of_both(self, directions: np.ndarray, first: int = UNKNOWN) -> np.ndarray:
        """Returns the log probabilities of the words given both sides.

        Each direction brings the word's prior with it, so the product has it twice and
        is divided by it. `first` is the first id of those that can stand at the place.
        """
        forward, backward = directions[..., first:]
        return log_softmax(forward + backward - self._log_prior[first:])

    def substitute_vectors(self, contexts: np.ndarray) -> np.ndarray:
        """Returns a vector of length 1 for what could stand at each place.

        It is the mean of the softmax's word vectors, with the square roots of the
        words' probabilities as weights: without the roots one word would be all.
        `contexts` are those of `contexts_of`.
        """
        words = self._kernel[:, len(SPECIALS) :]
        # Half the logarithm of a probability given both sides. What normalises it, and
        # each direction's, would scale the weights of all words alike: so one product
        # does for both directions.
        forward, backward = np.split(contexts, 2, axis=1)
        bias = self._bias - self._log_prior / 2
        weights = (forward + backward) / 2 @ words + bias[len(SPECIALS) :]
        weights -= weights.max(axis=1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=1, keepdims=True)
        return normalize(weights @ words.T - self._mean_word)

    @cached_property
    def _mean_word(self) -> np.ndarray:
        mean: np.ndarray = self._kernel[:, len(SPECIALS) :].mean(axis=1)
        return mean


def log_prior(vocabulary: Vocabulary) -> np.ndarray:
    """Returns the logarithm of each word's frequency, but for a constant."""
    if vocabulary.counts is None:
        # Log-uniform by rank, as the sampled softmax takes words to be distributed.
        ranks = np.arange(len(vocabulary), dtype="float32")
        return np.log(np.log1p(1 / (ranks + 1)))
    return np.log(np.maximum(vocabulary.counts, 1).astype("float32"))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
