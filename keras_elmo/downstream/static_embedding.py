"""A layer of static word vectors, such as GloVe's, to combine with ELMo's."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import keras
from keras import ops
from keras.backend import standardize_dtype

from keras_elmo.downstream.token_mask import TokenMask, is_ids
from keras_elmo.text.string_layer import StringLayer, padded
from keras_elmo.text.vector_file import read_vector_file
from keras_elmo.utils.checks import check_at_least, check_type
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.lazy import do_not_convert, tf
from keras_elmo.utils.types import Shape, StrPath, Tensor

# Ids before the ids of the words.
_PADDING, _UNKNOWN = 0, 1
_NUM_SPECIALS = 2


@keras_class
class StaticEmbedding(StringLayer):
    """Looks up one vector for each word, whatever its context.

    A word that is unknown as it stands is looked up in lower case; all other unknown
    words share one vector, initially 0. A `.keras` file of a model with this layer has
    the words and needs no other file.

    Args:
        words: distinct words.
        units: length of a vector.
        trainable: whether to train the vectors.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        tokens: `(batch, tokens)` strings padded with `""`, from `Tokenizer`; or, on a
            backend without strings, their `ids`.

    Returns:
        `(batch, tokens, units)` tensor, 0 in masked positions.

    Masking: creates the mask of `ElmoEmbedding`, `(batch, tokens)`: a sentence ends
    with its last token that is not `""`; without tokens it keeps its first position.

    Raises:
        TypeError: `words` is a string.
        ValueError: there is no word, or a word is empty or repeated; or `tokens` does
            not have two axes, or has an `""` before a token.
        RuntimeError: `tokens` are strings, and Keras does not run on TensorFlow.

    Example:

    ```python
    with open("vectors.txt", "w") as file:
        file.write("river 1 2\\nbank 3 4\\n")
    static = keras_elmo.StaticEmbedding.from_file("vectors.txt")
    vectors = static(tf.constant([["River", "bank"], ["shore", ""]]))
    np.testing.assert_array_equal(vectors[0], [[1, 2], [3, 4]])
    # With ELMo's vectors, as in the paper, [x_k; ELMo_k].
    elmo = np.zeros((2, 2, 6), "float32")
    assert keras.layers.Concatenate()([vectors, elmo]).shape == (2, 2, 8)
    ```

    Reference: Peters et al. 2018, Deep Contextualized Word Representations, section
    3.3.
    """

    _num_axes = 2
    _alternative = "the ids, with its method `ids`,"
    _dtype_without_strings = "int32"

    def __init__(
        self,
        words: Sequence[str],
        units: int,
        trainable: bool = False,
        **kwargs: object,
    ) -> None:
        super().__init__(trainable=trainable, **kwargs)
        if isinstance(words, str | bytes):
            raise TypeError(f"`words` must be a list of words. Received: {words!r}")
        check_type(Iterable, "a list of words", words=words)
        check_at_least(1, units=units)
        self.words = list(words)
        if not self.words or "" in self.words:
            raise ValueError(
                "`words` must hold words that are not empty. "
                f"Received: {len(self.words):,} words"
            )
        if len(set(self.words)) < len(self.words):
            (twice, _), *_ = Counter(self.words).most_common(1)
            raise ValueError(f"`words` must hold no word twice. Received: {twice!r}")
        self.units = units
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self._table: object = None

    @classmethod
    def from_file(
        cls, path: StrPath, max_words: int | None = None, **kwargs: Any
    ) -> "StaticEmbedding":
        """Makes the layer from a file in word2vec's, GloVe's or fastText's text format.

        Args:
            path: the file; `.gz` and `.xz` are decompressed. Its words have to be in
                Unicode's composed form (NFC), like the tokenizer's.
            max_words: number of words to read, from the first.
            **kwargs: `trainable`, and arguments of `keras.layers.Layer`.

        Raises:
            ValueError: there is no such file, or a line is malformed.
        """
        words, vectors = read_vector_file(path, max_words)
        layer = cls(words, vectors.shape[1], **kwargs)
        layer.build()
        layer.vectors.assign(ops.pad(vectors, [[_NUM_SPECIALS, 0], [0, 0]]))
        return layer

    def build(self, tokens_shape: Shape | None = None) -> None:
        self.vectors = self.add_weight(
            name="vectors",
            shape=(_NUM_SPECIALS + len(self.words), self.units),
            initializer="zeros",
            dtype=self.dtype_policy.variable_dtype,
        )
        self.built = True

    def call(self, tokens: Tensor) -> Tensor:
        ids = self._as_ids(tokens)
        vectors = ops.take(self.vectors, ids, axis=0)
        vectors = ops.cast(vectors, self.dtype_policy.compute_dtype)
        mask = ops.cast(ids != _PADDING, vectors.dtype)
        # Not an index: LiteRT lacks the operator of new axes.
        return vectors * ops.expand_dims(mask, -1)

    @do_not_convert
    def ids(self, tokens: Tensor) -> Tensor:
        """Returns the rows of the tokens' vectors, by TensorFlow's core ops.

        Args:
            tokens: `(batch, tokens)` strings padded with `""`.

        Returns:
            `(batch, tokens)` int32 tensor: 0 after the end of a sentence, 1 for an
            unknown word, from 2 on the words in their order.
        """
        tokens = padded(tokens)
        table = self.table()
        ids = table.lookup(tokens)
        lower = table.lookup(tf.strings.lower(tokens, "utf-8"))
        ids = tf.where(ids == _UNKNOWN, lower, ids)
        return tf.where(TokenMask().tokens(tokens), ids, _PADDING)

    def _as_ids(self, tokens: Tensor) -> Tensor:
        if is_ids(tokens):
            self._check(tokens, "tokens", standardize_dtype(tokens.dtype))
            return ops.convert_to_tensor(tokens)
        return self.ids(self._strings(tokens, "tokens"))

    def table(self) -> Tensor:
        """Returns TensorFlow's table of the words and their ids."""
        if self._table is None:
            # Outside of the function, perhaps of tf.data, that is first to ask.
            with tf.init_scope():
                places = tf.range(len(self.words), dtype=tf.int32) + _NUM_SPECIALS
                pairs = tf.lookup.KeyValueTensorInitializer(self.words, places)
                self._table = tf.lookup.StaticHashTable(pairs, _UNKNOWN)
        return self._table

    def compute_mask(self, tokens: Tensor, previous_mask: Tensor = None) -> Tensor:
        return TokenMask()(tokens)

    def compute_output_spec(self, tokens: Tensor) -> keras.KerasTensor:
        if is_ids(tokens):
            self._check(tokens, "tokens", standardize_dtype(tokens.dtype))
        else:
            self._require_tensorflow_backend()
            self._check(tokens, "tokens")
        shape = self.compute_output_shape(tokens.shape)
        return keras.KerasTensor(shape, self.dtype_policy.compute_dtype)

    def compute_output_shape(self, tokens_shape: Shape) -> Shape:
        return (*tokens_shape, self.units)
