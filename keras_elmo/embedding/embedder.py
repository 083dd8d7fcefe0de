"""Contextual vectors of sentences, computed window by window."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias, TypeVar, overload

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.embedding.embed_options import EmbedOptions, mean_over_tokens
from keras_elmo.files.loading import open_model
from keras_elmo.files.onnx_session import OnnxEncoder
from keras_elmo.files.sources import AnyEncoder, ModelSource, Source, tokenizer_of
from keras_elmo.text.batching import Tokens, batches_of_like_length, split_stream
from keras_elmo.text.token_lists import Sentence, read_sentences, utf8_tokens
from keras_elmo.utils.checks import called, check_at_least, check_choice, received
from keras_elmo.utils.types import Tensor

T = TypeVar("T")
# Computes the words of a window, and returns what computes layers of batches.
Prepare: TypeAlias = Callable[
    [Sequence[Tokens], bool], Callable[[Sequence[Tokens]], list[np.ndarray]]
]
# Sentences in a batch of a long text: a step of many rows costs little more than one
# of few.
BATCH_SIZE = 128
# Batches per window, whose sentences are sorted by length to save padding.
_WINDOW_BATCHES = 16
# The most positions of a window, and of a padded batch with ONNX Runtime, whose outputs
# are all in memory; one sentence alone may be longer.
_MAX_POSITIONS = 16_384
_ONNX_POSITIONS = 4_096


@overload
def embed(
    model: Source,
    sentences: Iterable[Sentence] | Tensor,
    batch_size: int = 32,
    *,
    layers: str = "all",
    pooling: None = None,
    tokenizer: str | None = None,
) -> Iterator[np.ndarray]: ...


@overload
def embed(
    model: Source,
    sentences: Iterable[Sentence] | Tensor,
    batch_size: int = 32,
    *,
    layers: str = "all",
    pooling: Literal["mean", "max"],
    tokenizer: str | None = None,
) -> np.ndarray: ...


def embed(
    model: Source,
    sentences: Iterable[Sentence] | Tensor,
    batch_size: int = 32,
    *,
    layers: str = "all",
    pooling: str | None = None,
    tokenizer: str | None = None,
) -> Iterator[np.ndarray] | np.ndarray:
    """Yields the vectors of each sentence, in the order given.

    Sentences are read a window of up to 16 batches ahead and sorted by length within
    it. The character CNN computes a word once per window; the first 65,536 words are
    computed once.

    Args:
        model: an `Encoder`, whose weights must not change meanwhile, or a name or path
            or another model as of `load`.
        sentences: texts, which `tokenizer` splits, lists of tokens, or both, from any
            iterable; or a tensor or array of strings: texts `(sentences,)`, or words
            `(sentences, tokens)`, ragged or padded with `""`; or an iterable of such
            arrays of words. A `tf.data.Dataset` yields texts or batches of texts or of
            words; in another iterable an array of one axis is a list of tokens.
        batch_size: greatest number of sentences in a batch.
        layers: `"all"`, or `"mix"`, their weighted sum: the first mix of an
            `ElmoEmbedding`, or the average.
        pooling: `"mean"` or `"max"` over the tokens, for one vector per sentence; 0 for
            a sentence without any.
        tokenizer: how texts are split, a kind of `Tokenizer`: `"whitespace"` for text
            that is tokenized already; the model's if `None`.

    Yields:
        float32 arrays of shape `(num_layers + 1, tokens, 2 * projection_units)`, or
        `(tokens, 2 * projection_units)` with `layers="mix"`, without the sentence
        boundaries.

    Returns:
        With `pooling`, one array of shape
        `(sentences, num_layers + 1, 2 * projection_units)`, or
        `(sentences, 2 * projection_units)` with `layers="mix"`.

    Raises:
        TypeError: a sentence is neither a text nor a list of tokens, `sentences` is a
            dictionary, a set or a table, or `model` is no model.
        ValueError: an empty token precedes another, `batch_size` is not positive, there
            is no such model, `layers`, `pooling` or `tokenizer` has a value it may not
            have, or the mix has `layer_norm`.
        ImportError: TensorFlow, which splits texts, is not installed, and a sentence is
            a text; an .onnx file needs the extra `onnx` instead.

    Example:

    ```python
    encoder = keras_elmo.build_encoder(keras_elmo.ElmoConfig.preset("tiny"))
    sentences = [["I", "sat", "on", "the", "bank", "."], "The bank closed"]
    first, second = keras_elmo.embed(encoder, sentences)
    layers, tokens, dimensions = first.shape
    assert (layers, tokens) == (3, 6)
    # The same word has another vector in another sentence.
    assert not np.allclose(first[2, 4], second[2, 1])
    # A vector for each sentence.
    vectors = keras_elmo.embed(encoder, sentences, layers="mix", pooling="mean")
    assert vectors.shape == (2, dimensions)
    ```

    Reference: Peters et al. 2018, section 3.
    """
    check_choice(("all", "mix"), layers=layers)
    check_choice((None, "mean", "max"), pooling=pooling)
    check_at_least(1, batch_size=batch_size)
    source = open_model(model)
    encoder = source.encoder()
    read = read_sentences(
        sentences,
        tokenizer_of(encoder, tokenizer),
        max_ahead=batch_size * _WINDOW_BATCHES,
    )
    mix = layer_factors(source, encoder.config) if layers == "mix" else None
    vectors = Embedder(encoder).embed(read, batch_size, mix)
    if pooling is None:
        return vectors
    pooled = [_pooled(sentence, pooling) for sentence in vectors]
    shape = EmbedOptions(layers).shape(encoder.config)
    return np.stack(pooled) if pooled else np.empty((0, *shape), "float32")


def layer_factors(
    source: ModelSource,
    config: ElmoConfig,
    argument: str = "layers",
    rule: str = "'all'",
) -> np.ndarray:
    """Returns the factor of each layer in a model's mix, equal ones without a mix.

    Raises a `ValueError` for a mix that is more than a weighted sum: `argument`, which
    asked for it, must follow `rule`.
    """
    mix = source.mix()
    if mix is None:
        num_layers = config.num_layers + 1
        return np.full(num_layers, 1 / num_layers, "float32")
    scalars, gamma, layer_norm = mix
    if layer_norm:
        raise ValueError(
            f"{called(argument)} must be {rule} for this model: its mix normalises "
            f"layers by their batch. {received(model=source.name)}"
        )
    weights = np.exp(scalars - np.max(scalars))
    return gamma * weights / weights.sum()


def _pooled(vectors: np.ndarray, pooling: str) -> np.ndarray:
    """Reduces the second last axis, the tokens; to 0 if there are none."""
    if pooling == "mean" or not vectors.shape[-2]:
        return mean_over_tokens(vectors)
    return vectors.max(axis=-2)


class Embedder:
    """An encoder with a cache of word vectors.

    The last bits of a word's vector depend on the words that the character CNN computes
    beside it. A window's vectors are the same to the bit if the cache was filled by
    the same words in the same order. The model's weights must not change meanwhile.
    """

    def __init__(self, model: AnyEncoder) -> None:
        if isinstance(model, OnnxEncoder):
            # Its layers have no boundaries.
            self._before, self._max_positions = 0, _ONNX_POSITIONS
            self._prepare: Prepare = lambda window, keep_words: model.layers
        else:
            # It imports Keras.
            from keras_elmo.embedding.word_cache import KerasRunner

            self._before, self._max_positions = 1, _MAX_POSITIONS
            self._prepare = KerasRunner(model).prepare

    def embed(
        self,
        sentences: Iterable[Sentence],
        batch_size: int,
        mix: np.ndarray | None = None,
        keep_boundaries: bool = False,
    ) -> Iterator[np.ndarray]:
        """Yields the vectors of each sentence; see `embed_window`."""
        for window in windows(map(utf8_tokens, sentences), batch_size, len):
            yield from self.embed_window(
                window, batch_size, mix, keep_boundaries=keep_boundaries
            )

    def cache_words(self, window: Sequence[Tokens]) -> None:
        """Computes the vectors of words and keeps them while there is room."""
        self._prepare(window, True)

    def embed_window(
        self,
        window: Sequence[Tokens],
        batch_size: int,
        mix: np.ndarray | None = None,
        keep_words: bool = True,
        keep_boundaries: bool = False,
    ) -> list[np.ndarray]:
        """Returns the vectors of each sentence.

        Args:
            window: sentences, in memory together.
            batch_size: greatest number of sentences in a batch.
            mix: weights of the layers; their weighted sum is returned instead of the
                layers, of shape `(tokens, 2 * projection_units)`.
            keep_words: whether new words are cached while there is room.
            keep_boundaries: whether the vectors of a sentence begin and end with those
                of its boundaries, which an .onnx file does not have.
        """
        compute = self._prepare(window, keep_words)
        before = 0 if keep_boundaries else self._before
        results: dict[int, np.ndarray] = {}
        lengths = [len(sentence) for sentence in window]
        for indices in batches_of_like_length(lengths, batch_size, self._max_positions):
            layers = compute([window[k] for k in indices])
            if mix is not None:
                # Once per batch is less work than once per sentence.
                layers = [_weighted_sum(layers, mix)]
            for row, index in enumerate(indices):
                end = before + lengths[index] + 2 * keep_boundaries
                vectors = np.stack([layer[row, before:end] for layer in layers])
                results[index] = vectors if mix is None else vectors[0]
        return [results[k] for k in range(len(window))]


def _weighted_sum(layers: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    total = weights[0] * layers[0]
    for weight, layer in zip(weights[1:], layers[1:], strict=True):
        total += weight * layer
    return total


def windows(
    sentences: Iterable[T], batch_size: int, length: Callable[[T], int]
) -> Iterator[list[T]]:
    """Cuts a stream of sentences; the same text gives the same windows."""
    max_sentences = batch_size * _WINDOW_BATCHES
    return split_stream(
        sentences, lambda x: length(x) + 2, _MAX_POSITIONS, max_sentences
    )
