"""How many floating-point operations a model takes, by its sizes alone.

A multiplication and its addition count as two. Only the matrix products and the
convolutions are counted: everything else is done once an element.
"""

from keras_elmo import ElmoConfig
from keras_elmo.config import MAX_CHARACTERS


def encoder_flops(config: ElmoConfig) -> int:
    """Returns the operations of one position, from its characters to all layers."""
    return character_cnn_flops(config) + bilm_flops(config)


def character_cnn_flops(config: ElmoConfig) -> int:
    """Returns the operations of one word, all of its characters read."""
    filters = sum(count for _, count in config.filters)
    convolutions = sum(
        (MAX_CHARACTERS - width + 1) * width * config.char_embedding_units * count
        for width, count in config.filters
    )
    highways = config.num_highway_layers * 2 * filters**2
    # Filters of the right number are not projected.
    projected = filters != config.projection_units
    projection = filters * config.projection_units if projected else 0
    return 2 * (convolutions + highways + projection)


def bilm_flops(config: ElmoConfig) -> int:
    """Returns the operations of one position in all LSTM layers, both directions."""
    gates = 2 * config.projection_units * 4 * config.units
    output = config.units * config.projection_units
    return 2 * 2 * config.num_layers * (gates + output)


def head_flops(config: ElmoConfig, vocabulary_size: int, num_sampled: int) -> int:
    """Returns the operations of one prediction while training."""
    target_and_others = 1 + min(num_sampled, vocabulary_size)
    return 2 * config.projection_units * target_and_others


def training_flops(
    config: ElmoConfig, rows: int, row_length: int, vocabulary_size: int, sampled: int
) -> int:
    """Returns the operations of one update from full rows."""
    # In each direction, the neighbours of all positions but one.
    predictions = 2 * rows * (row_length - 1)
    forward = rows * row_length * encoder_flops(config)
    forward += predictions * head_flops(config, vocabulary_size, sampled)
    # A product has two gradients, that of either factor, and each is one product.
    return 3 * forward
