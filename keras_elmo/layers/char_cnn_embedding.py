"""Token embeddings from characters."""

from collections.abc import Iterator, Sequence

import keras
from keras import ops

from keras_elmo.layers.highway import Highway
from keras_elmo.layers.token_embedding import StoredWeight, TokenEmbedding
from keras_elmo.utils.checks import check_at_least, check_choice, checked_filters
from keras_elmo.utils.keras_classes import keras_class
from keras_elmo.utils.keras_private import export_format
from keras_elmo.utils.large_variables import looked_up_rows
from keras_elmo.utils.lazy import tf
from keras_elmo.utils.one_graph import is_compiled
from keras_elmo.utils.types import Shape, Tensor


def unique_words(char_ids: Tensor, max_width: int) -> tuple[Tensor, Tensor]:
    """Returns unique words `(words, characters)`, and the index of each among them.

    Half of the words of a batch of natural text are repetitions, and most characters of
    a word are padding, which is cut behind what each convolution has to see once. A
    backend that needs static shapes gets all words, as they are, and so does a runtime
    that is exported to, which cannot find unique words.
    """
    finds_words = keras.backend.backend() == "tensorflow" and not is_compiled()
    if finds_words and export_format() is None:
        # A masked word in front, so that a batch without words has one to embed.
        padded = tf.pad(char_ids, [[1, 0], [0, 0]])
        words, positions = tf.raw_ops.UniqueV2(x=padded, axis=[0])
        words.set_shape((None, char_ids.shape[-1]))
        return _cut_padding(words, max_width), positions[1:]
    return char_ids, ops.arange(ops.shape(char_ids)[0], dtype="int32")


def _cut_padding(words: Tensor, max_width: int) -> Tensor:
    """Leaves `max_width` of the characters that end all words."""
    used = tf.reduce_any(words != words[:, -1:], axis=0)
    length = tf.reduce_max(tf.where(used, tf.range(1, words.shape[-1] + 1), 0))
    return words[:, : length + max_width]


@keras_class
class CharCNNEmbedding(TokenEmbedding):
    """Embeds each word by convolutions over its characters.

    `x = P(highway(concat_w max_t f(conv_w(characters))))`: convolutions of several
    widths over the character vectors, the maximum over positions, highway layers, and
    a linear projection (left out where the filters already have its size).

    Args:
        filters: `(width, number of filters)` of each convolution.
        projection_units: size of the result.
        num_highway_layers: highway layers before the projection.
        char_embedding_units: length of a character's vector.
        activation: `"relu"` or `"tanh"`, of the convolutions.
        num_characters: number of character ids, the masked 0 included.
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        char_ids: `(batch, tokens, characters)` integers; all 0 in a masked position.

    Returns:
        `(batch, tokens, projection_units)` float tensor, 0 in masked positions.

    Masking: creates the mask of shape `(batch, tokens)`.

    Raises:
        ValueError: `activation` is unknown, or `filters` is empty.

    Example:

    ```python
    embedding = keras_elmo.CharCNNEmbedding(
        filters=[[1, 4], [2, 8], [3, 8]], projection_units=16
    )
    char_ids = keras_elmo.CharacterIds()([["A", "river", "bank"]])
    # The three words, and the beginning and the end of the sentence.
    assert embedding(char_ids).shape == (1, 5, 16)
    ```

    Reference: Kim et al. 2016, Character-Aware Neural Language Models, section 2;
    Jozefowicz et al. 2016, Exploring the Limits of Language Modeling, section 3.
    """

    def __init__(
        self,
        filters: Sequence[Sequence[int]],
        projection_units: int,
        num_highway_layers: int = 1,
        char_embedding_units: int = 16,
        activation: str = "relu",
        num_characters: int = 262,
        **kwargs: object,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(("relu", "tanh"), activation=activation)
        check_at_least(1, projection_units=projection_units)
        check_at_least(0, num_highway_layers=num_highway_layers)
        check_at_least(1, char_embedding_units=char_embedding_units)
        check_at_least(1, num_characters=num_characters)
        self.filters = [list(pair) for pair in checked_filters(filters)]
        self.projection_units = projection_units
        self.num_highway_layers = num_highway_layers
        self.char_embedding_units = char_embedding_units
        self.activation = activation
        self.num_characters = num_characters
        # Unique words are found by an op that XLA cannot compile.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.highways = [
            Highway(
                name=f"highway_{k}", dtype=self.dtype_policy, trainable=self.trainable
            )
            for k in range(num_highway_layers)
        ]

    def build(self, char_ids_shape: Shape) -> None:
        num_filters = sum(count for _, count in self.filters)
        self.char_embedding = self.add_weight(
            name="char_embedding",
            shape=(self.num_characters, self.char_embedding_units),
            initializer=keras.initializers.RandomUniform(-1.0, 1.0),
        )
        # The published initialisers: uniform for relu, Glorot's normal for tanh.
        self.kernels = [
            self.add_weight(
                name=f"kernel_{k}",
                shape=(width, self.char_embedding_units, count),
                initializer=keras.initializers.RandomUniform(-0.05, 0.05)
                if self.activation == "relu"
                else keras.initializers.RandomNormal(
                    stddev=(width * self.char_embedding_units) ** -0.5
                ),
            )
            for k, (width, count) in enumerate(self.filters)
        ]
        self.biases = [
            self.add_weight(name=f"bias_{k}", shape=(count,), initializer="zeros")
            for k, (_, count) in enumerate(self.filters)
        ]
        for highway in self.highways:
            highway.build((None, num_filters))
        if num_filters != self.projection_units:
            self.add_projection(num_filters)

    def call(self, char_ids: Tensor) -> Tensor:
        batch, tokens, characters = ops.shape(char_ids)
        max_width = max(width for width, _ in self.filters)
        flat = ops.reshape(char_ids, (-1, characters))
        words, indices = unique_words(flat, max_width)
        embeddings = ops.take(self._embed(words), indices, axis=0)
        embeddings = ops.reshape(embeddings, (batch, tokens, self.projection_units))
        return self.masked(embeddings, char_ids)

    def _embed(self, words: Tensor) -> Tensor:
        """`(words, characters)` ids to `(words, projection_units)`."""
        activation = ops.relu if self.activation == "relu" else ops.tanh
        # The gradient of a character's vector is a sum over all of its places, too many
        # for bfloat16 to sum them exactly, or a GPU quickly.
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        characters = looked_up_rows(ops.cast(self.char_embedding, dtype), words)
        characters = ops.cast(characters, self.compute_dtype)
        # Adding the bias and the activation are monotonic, so they can follow the
        # maximum: one value per word instead of one per character.
        x = ops.concatenate(
            [
                activation(ops.max(_convolved(characters, kernel), axis=1) + bias)
                for kernel, bias in zip(self.kernels, self.biases, strict=True)
            ],
            axis=-1,
        )
        for highway in self.highways:
            x = highway(x)
        return self.projected(x)

    def stored_weights(self) -> Iterator[StoredWeight]:
        # The files have no row for id 0, the mask.
        rows, units = self.char_embedding.shape
        yield "char_embed", self.char_embedding, (rows - 1, units)
        for k, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            # The files have an axis for the height of an image.
            yield f"CNN/W_cnn_{k}", kernel, (1, *kernel.shape)
            yield f"CNN/b_cnn_{k}", bias, bias.shape
        for k, highway in enumerate(self.highways):
            weights = {
                "W_carry": highway.carry_kernel,
                "b_carry": highway.carry_bias,
                "W_transform": highway.transform_kernel,
                "b_transform": highway.transform_bias,
            }
            for name, weight in weights.items():
                yield f"CNN_high_{k}/{name}", weight, weight.shape
        yield from super().stored_weights()


def _convolved(characters: Tensor, kernel: Tensor) -> Tensor:
    if export_format() == "OpenVINO":
        # Its convolution of any number of words returns other numbers.
        width, units, filters = kernel.shape
        windows = characters.shape[1] - width + 1
        parts = [characters[:, k : k + windows] for k in range(width)]
        flat = ops.reshape(kernel, (width * units, filters))
        return ops.matmul(ops.concatenate(parts, axis=-1), flat)
    # Keras's default is a setting, made for images.
    return ops.conv(characters, kernel, data_format="channels_last")
