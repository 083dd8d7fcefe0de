"""Token embeddings from words and characters that are looked up."""

from collections.abc import Iterator

import keras
from keras import ops

from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.token_embedding import StoredWeight, TokenEmbedding
from keras_elmo.utils.checks import check_at_least, checked_filters
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.large_variables import looked_up_rows
from keras_elmo.utils.types import Shape, Tensor


@keras_class
class VocabularyEmbedding(TokenEmbedding):
    """Embeds each token by its word, its characters, or both.

    `x = [word; highway(concat_w max_t f(conv_w(characters)))] W + b`: a row of the
    words' table, beside convolutions over the character vectors and highway layers.
    Words alone that have the size of the result are not projected.

    Args:
        projection_units: size of the result.
        num_words: number of words; 0 if tokens are not looked up as words.
        word_embedding_units: length of a word's vector.
        num_characters: number of characters; 0 if there are none.
        filters: `(width, number of filters)` of each convolution over characters.
        num_highway_layers: highway layers above the convolutions.
        char_embedding_units: length of a character's vector.
        activation: `"relu"` or `"tanh"`, of the convolutions.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        char_ids: `(batch, tokens, ids)` integers, all 0 in a masked position: the id of
            the word, if there are words, then the ids of its characters, if
            there are characters. Row k of a table has the id k + 1.

    Returns:
        `(batch, tokens, projection_units)` float tensor, 0 in masked positions.

    Masking: creates the mask of shape `(batch, tokens)`.

    Raises:
        ValueError: there are neither words nor characters.

    Example:

    ```python
    embedding = keras_elmo.VocabularyEmbedding(
        projection_units=16, num_words=3, word_embedding_units=8
    )
    # Three words and a masked position.
    assert embedding(np.array([[[1], [3], [2], [0]]])).shape == (1, 4, 16)
    ```

    Reference: Che et al. 2018, Towards Better UD Parsing, section 2.1.
    """

    def __init__(
        self,
        projection_units: int,
        num_words: int = 0,
        word_embedding_units: int = 0,
        num_characters: int = 0,
        filters: tuple[tuple[int, int], ...] = (),
        num_highway_layers: int = 1,
        char_embedding_units: int = 16,
        activation: str = "relu",
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        check_at_least(1, projection_units=projection_units)
        check_at_least(0, num_words=num_words, num_characters=num_characters)
        check_at_least(0, word_embedding_units=word_embedding_units)
        if not num_words and not num_characters:
            raise ValueError(
                "`num_words` or `num_characters` must be positive. Received: both are 0"
            )
        self.projection_units = projection_units
        self.num_words = num_words
        self.word_embedding_units = word_embedding_units
        self.num_characters = num_characters
        self.filters = [list(pair) for pair in checked_filters(filters, least=0)]
        self.num_highway_layers = num_highway_layers
        self.char_embedding_units = char_embedding_units
        self.activation = activation
        # Unique words are found by an op that XLA cannot compile.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.char_cnn = None
        if num_characters:
            self.char_cnn = CharCNNEmbedding(
                filters=self.filters,
                # No projection here: words and characters share one.
                projection_units=sum(count for _, count in self.filters),
                num_highway_layers=num_highway_layers,
                char_embedding_units=char_embedding_units,
                activation=activation,
                # And 0, the masked one.
                num_characters=num_characters + 1,
                name="char_cnn_embedding",
                dtype=self.dtype_policy,
                trainable=self.trainable,
            )

    def build(self, char_ids_shape: Shape) -> None:
        units = 0
        self.word_embedding: keras.Variable | None = None
        if self.num_words:
            units = self.word_embedding_units
            self.word_embedding = self.add_weight(
                name="word_embedding",
                shape=(self.num_words, units),
                initializer=keras.initializers.RandomNormal(stddev=1.0),
                # Cast row by row: a table may be large.
                autocast=False,
            )
        if self.char_cnn is not None:
            characters = char_ids_shape[-1]
            if characters is not None:
                characters -= bool(self.num_words)
            self.char_cnn.build((None, None, characters))
            units += self.char_cnn.projection_units
        elif units == self.projection_units:
            return
        self.add_projection(units)

    def call(self, char_ids: Tensor) -> Tensor:
        parts = []
        if self.word_embedding is not None:
            rows = ops.maximum(char_ids[..., 0] - 1, 0)
            words = looked_up_rows(self.word_embedding, rows)
            parts.append(ops.cast(words, self.compute_dtype))
        if self.char_cnn is not None:
            parts.append(self.char_cnn(char_ids[..., bool(self.num_words) :]))
        return self.masked(self.projected(ops.concatenate(parts, axis=-1)), char_ids)

    def stored_weights(self) -> Iterator[StoredWeight]:
        if self.word_embedding is not None:
            # By the name of the published trainer, of models of word ids.
            yield "embedding", self.word_embedding, self.word_embedding.shape
        if self.char_cnn is not None:
            yield from self.char_cnn.stored_weights()
        yield from super().stored_weights()
