"""From the characters of a word to a vector that does not know its neighbours."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo.layers.highway import Highway
from keras_elmo.utils.lazy import tf


def unique_words(char_ids: Any, widest: int) -> tuple[Any, Any]:
    """Splits words into the distinct ones and where each word stands among them.

    Half the words of a batch of natural text are repetitions, and most of a word is
    padding. Where the backend needs static shapes or has no such op, every word counts
    as distinct and is as long as ever: the result is the same, the work is not.

    Args:
        char_ids: `(positions, characters)` integers.
        widest: the width of the widest convolution that is to read them.

    Returns:
        `words`, `(distinct, characters)`, without characters that no convolution can
        tell from those before them; and `positions`, `(positions,)` int32, of each
        word among the distinct ones.
    """
    if keras.backend.backend() == "tensorflow":
        # A masked word stands first, so that a batch without words has one to embed.
        padded = tf.pad(char_ids, [[1, 0], [0, 0]])
        words, positions = tf.raw_ops.UniqueV2(x=padded, axis=[0])
        words.set_shape((None, char_ids.shape[-1]))
        return _without_repeated_end(words, widest), positions[1:]
    return char_ids, ops.arange(ops.shape(char_ids)[0], dtype="int32")


def _without_repeated_end(words: Any, widest: int) -> Any:
    """Leaves one window, for each width, of the character that ends all words."""
    goes_on = tf.reduce_any(words != words[:, -1:], axis=0)
    place = tf.range(1, words.shape[-1] + 1)
    longest = tf.reduce_max(tf.where(goes_on, place, 0))
    return words[:, : longest + widest]


@keras.saving.register_keras_serializable("keras_elmo")
class CharCNNEmbedding(keras.layers.Layer):
    """Embeds words by convolutions over their characters.

    `x = P(highway(concat_w max_t f(conv_w(characters))))`: convolutions of several
    widths over the character vectors, the maximum over positions, highway layers, and
    a linear projection (left out where the filters already have its size).

    Args:
        filters: `(width, number of filters)` of each convolution.
        projection_units: size of the result.
        num_highway_layers: highway layers before the projection.
        char_embedding_units: length of a character's vector.
        activation: `"relu"` or `"tanh"`, of the convolutions.
        num_characters: character ids, the mask's 0 included.
        **kwargs: arguments of `keras.layers.Layer`. With `trainable=False` the
            weights are created frozen, and stay so in an exported SavedModel.

    Call arguments:
        char_ids: `(batch, tokens, characters)` integers; all 0 in a masked position.

    Returns:
        `(batch, tokens, projection_units)` float tensor, 0 in masked positions.

    Masking: creates the mask of shape `(batch, tokens)`.

    Raises:
        ValueError: `activation` is another one, or `filters` is empty.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if activation not in ("relu", "tanh"):
            raise ValueError(
                "`activation` must be 'relu' or 'tanh'. "
                f"Received: activation={activation!r}"
            )
        if not filters:
            raise ValueError(f"`filters` must not be empty. Received: {filters}")
        self.filters = [[int(width), int(count)] for width, count in filters]
        self.projection_units = projection_units
        self.num_highway_layers = num_highway_layers
        self.char_embedding_units = char_embedding_units
        self.activation = activation
        self.num_characters = num_characters
        # Distinct words are found by an op that XLA cannot compile.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.highways = [
            Highway(
                name=f"highway_{k}", dtype=self.dtype_policy, trainable=self.trainable
            )
            for k in range(num_highway_layers)
        ]

    def build(self, char_ids_shape: tuple[int | None, ...]) -> None:
        common = {"trainable": self.trainable}
        num_filters = sum(count for _, count in self.filters)
        self.char_embedding = self.add_weight(
            name="char_embedding",
            shape=(self.num_characters, self.char_embedding_units),
            initializer=keras.initializers.RandomUniform(-1.0, 1.0),
            **common,
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
                **common,
            )
            for k, (width, count) in enumerate(self.filters)
        ]
        self.biases = [
            self.add_weight(
                name=f"bias_{k}", shape=(count,), initializer="zeros", **common
            )
            for k, (_, count) in enumerate(self.filters)
        ]
        for highway in self.highways:
            highway.build((None, num_filters))
        self.projection_kernel = self.projection_bias = None
        if num_filters != self.projection_units:
            self.projection_kernel = self.add_weight(
                name="projection_kernel",
                shape=(num_filters, self.projection_units),
                initializer=keras.initializers.RandomNormal(stddev=num_filters**-0.5),
                **common,
            )
            self.projection_bias = self.add_weight(
                name="projection_bias",
                shape=(self.projection_units,),
                initializer="zeros",
                **common,
            )

    def call(self, char_ids: Any) -> Any:
        batch, tokens, characters = ops.shape(char_ids)
        widest = max(width for width, _ in self.filters)
        words, positions = unique_words(ops.reshape(char_ids, (-1, characters)), widest)
        embeddings = ops.take(self._embed(words), positions, axis=0)
        embeddings = ops.reshape(embeddings, (batch, tokens, self.projection_units))
        mask = ops.cast(self.compute_mask(char_ids), embeddings.dtype)
        return embeddings * mask[..., None]

    def _embed(self, words: Any) -> Any:
        """`(words, characters)` ids to `(words, projection_units)`."""
        activation = ops.relu if self.activation == "relu" else ops.tanh
        table = ops.cast(self.char_embedding, self.compute_dtype)
        characters = ops.take(table, words, axis=0)
        # Bias and activation grow with their argument, so they follow the maximum,
        # where there is one value a word instead of one a character.
        x = ops.concatenate(
            [
                activation(ops.max(_convolved(characters, kernel), axis=1) + bias)
                for kernel, bias in zip(self.kernels, self.biases, strict=True)
            ],
            axis=-1,
        )
        for highway in self.highways:
            x = highway(x)
        if self.projection_kernel is None:
            return x
        return ops.matmul(x, self.projection_kernel) + self.projection_bias

    def compute_mask(self, char_ids: Any, previous_mask: Any = None) -> Any:
        return ops.greater(char_ids[..., 0], 0)

    def compute_output_shape(
        self, char_ids_shape: tuple[int | None, ...]
    ) -> tuple[int | None, ...]:
        return (*char_ids_shape[:-1], self.projection_units)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "projection_units": self.projection_units,
            "num_highway_layers": self.num_highway_layers,
            "char_embedding_units": self.char_embedding_units,
            "activation": self.activation,
            "num_characters": self.num_characters,
        }


def _convolved(characters: Any, kernel: Any) -> Any:
    # Keras's default is a setting, made for images.
    return ops.conv(characters, kernel, data_format="channels_last")
