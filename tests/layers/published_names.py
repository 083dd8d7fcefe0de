"""The weights of our layers under the names that the oracle knows them by."""

from keras_elmo.layers.bilm import BiLM
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from tests.layers.layer_checks import numpy_of


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


def randomise(layer, rng, scale=0.3):
    """Gives every weight normal values: none zero, none equal by chance."""
    for weight in layer.weights:
        if weight.dtype.startswith("float"):
            weight.assign(rng.normal(0, scale, weight.shape))
