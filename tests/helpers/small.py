"""A model of unequal sizes, so that no axis passes for another, and its sentences.

Its weights are known to the oracle by their published names.
"""

import dataclasses

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.encoder import build_encoder
from tests.helpers import numpy_reference
from tests.helpers.layer_checks import numpy_of

CONFIG = ElmoConfig(
    filters=((1, 4), (2, 5), (3, 6)),
    num_highway_layers=2,
    char_embedding_units=3,
    units=9,
    projection_units=7,
    dropout=0.0,
)
# A layer of each kind, for graphs that are made in half the time.
SMALLER = dataclasses.replace(
    CONFIG, filters=((1, 4), (2, 5)), num_highway_layers=1, num_layers=1
)
SENTENCES = [
    ["I", "sat", "on", "the", "bank", "of", "the", "river", "."],
    ["배", "가", "고프다"],
    [],
    ["The", "bank", "closed"],
    ["x" * 70],
]


def char_ids(sentences, extra=0):
    """The ids of the sentences as one batch, `extra` masked columns wider."""
    rows = [numpy_reference.character_ids(tokens) for tokens in sentences]
    batch = numpy_reference.pad(rows).astype("int32")
    return np.pad(batch, [(0, 0), (0, extra), (0, 0)])


def random_encoder(config=CONFIG, seed=0):
    """An encoder whose weights are all different, and not small."""
    encoder = build_encoder(config)
    randomise(encoder, np.random.default_rng(seed), scale=0.5)
    return encoder


def randomise(layer, rng, scale=0.3):
    """Gives every weight normal values: none zero, none equal by chance."""
    for weight in layer.weights:
        if weight.dtype.startswith("float"):
            weight.assign(rng.normal(0, scale, weight.shape))


def assert_same_weights(weights, others):
    """Compares variables or arrays bit for bit."""
    for weight, other in zip(weights, others, strict=True):
        np.testing.assert_array_equal(numpy_of(weight), numpy_of(other))


def published(encoder):
    """The `(options, weights)` by which the oracle knows an encoder."""
    layers = [encoder.get_layer(name) for name in ("char_cnn_embedding", "bilm")]
    return options_of(*layers), weights_of(*layers)


def options_of(*layers):
    """Returns as much of options.json as the given layers decide."""
    options = {}
    for layer in layers:
        if isinstance(layer, CharCNNEmbedding):
            options["char_cnn"] = {
                "activation": layer.activation,
                "embedding": {"dim": layer.char_embedding_units},
                "filters": layer.filters,
                "n_highway": layer.num_highway_layers,
            }
        elif isinstance(layer, BiLM):
            options["lstm"] = {
                "cell_clip": layer.cell_clip,
                "dim": layer.units,
                "n_layers": layer.num_layers,
                "proj_clip": layer.projection_clip,
                "projection_dim": layer.projection_units,
                "use_skip_connections": layer.skip_connections,
            }
    return options


def weights_of(*layers):
    """Returns the weights of the given layers as published."""
    variables = {}
    for layer in layers:
        if isinstance(layer, CharCNNEmbedding):
            variables |= _char_cnn(layer)
        elif isinstance(layer, BiLM):
            variables |= _bilm(layer)
    weights = {name: numpy_of(variable) for name, variable in variables.items()}
    if "char_embed" in weights:
        weights["char_embed"] = weights["char_embed"][1:]
    return weights


def _char_cnn(layer):
    variables = {"char_embed": layer.char_embedding}
    for k, (kernel, bias) in enumerate(zip(layer.kernels, layer.biases, strict=True)):
        variables[f"CNN/W_cnn_{k}"] = kernel[None]
        variables[f"CNN/b_cnn_{k}"] = bias
    for k, highway in enumerate(layer.highways):
        variables[f"CNN_high_{k}/W_carry"] = highway.carry_kernel
        variables[f"CNN_high_{k}/b_carry"] = highway.carry_bias
        variables[f"CNN_high_{k}/W_transform"] = highway.transform_kernel
        variables[f"CNN_high_{k}/b_transform"] = highway.transform_bias
    if layer.projection_kernel is not None:
        variables["CNN_proj/W_proj"] = layer.projection_kernel
        variables["CNN_proj/b_proj"] = layer.projection_bias
    return variables


def _bilm(layer):
    variables = {}
    for direction, stack in enumerate((layer.forward_layers, layer.backward_layers)):
        for k, lstm in enumerate(stack):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell"
            variables[f"{cell}/W_0"] = lstm.kernel
            variables[f"{cell}/B"] = lstm.bias
            variables[f"{cell}/W_P_0"] = lstm.projection_kernel
    return variables


def write_random(folder, changes=None, seed=0):
    """Writes a random model with some options changed; returns its files."""
    options = CONFIG.to_options()
    for section, values in (changes or {}).items():
        options[section].update(values)
    weights = numpy_reference.random_weights(options, seed)
    files = folder / "options.json", folder / "weights.hdf5"
    numpy_reference.write_published(options, weights, *files)
    return files
