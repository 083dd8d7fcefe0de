"""Reads the folder of TensorFlow Hub's ELMo module."""

import os
from itertools import count

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.files.published import encoder_datasets
from keras_elmo.files.validation import check_size
from keras_elmo.importing.bilm_variables import MODULE, BilmVariables
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import Encoder
from keras_elmo.utils.types import StrPath

_SCALARS = "aggregation/weights"
_GAMMA = "aggregation/scaling"


def read_hub_module(path: StrPath) -> ElmoEmbedding:
    """Returns the encoder of a module with the mix that it was saved with.

    A module does not say its sizes: they are those of its variables. What no variable
    shows is as published: clips of 3, skip connections, relu.

    Raises:
        ValueError: a variable is missing, or two contradict each other; or a file is
            missing or damaged.
    """
    variables = BilmVariables(os.path.join(path, "variables", "variables"), MODULE)
    config = read_sizes(variables)
    check_size(config.num_weights, variables.files(), variables.prefix)
    scalars, gamma = read_hub_mix(variables, config)
    encoder = Encoder(config, tokenizer="whitespace")
    datasets = list(encoder_datasets(encoder))
    variables.check_no_others(datasets, "the number of its other variables")
    for dataset in datasets:
        if variables.shape(dataset.name) == tuple(dataset.weight.shape):
            # With the row of id 0, the mask.
            dataset.shape = tuple(dataset.weight.shape)
        dataset.assign(variables.read_dataset(dataset))
    embedding = ElmoEmbedding(encoder)
    embedding.mixes[0].scalars.assign(scalars)
    embedding.mixes[0].gamma.assign(gamma)
    return embedding


def read_hub_mix(
    variables: BilmVariables, config: ElmoConfig
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the raw weights of the mix, and its gamma."""
    shape = (1,) if variables.shapes.get(_GAMMA) == (1,) else ()
    gamma = np.reshape(variables.read(_GAMMA, shape), ())
    return variables.read(_SCALARS, (config.num_layers + 1,)), gamma


def read_sizes(variables: BilmVariables) -> ElmoConfig:
    """Returns the sizes that the shapes of the variables say."""
    filters = []
    for k in count():
        name = f"CNN/W_cnn_{k}"
        if variables.find(name) not in variables.shapes:
            break
        _, width, _, number = _of_rank(variables, name, 4)
        filters.append((width, number))
    cell = "RNN_0/RNN/MultiRNNCell/Cell{}/LSTMCell/{}"
    num_layers = _count(variables, cell.format("{}", "W_0"))
    units, projection_units = _of_rank(variables, cell.format(0, "W_P_0"), 2)
    try:
        return ElmoConfig(
            filters=tuple(filters),
            num_highway_layers=_count(variables, "CNN_high_{}/W_carry"),
            char_embedding_units=_of_rank(variables, "char_embed", 2)[1],
            units=units,
            projection_units=projection_units,
            num_layers=num_layers,
        )
    except ValueError as error:
        raise ValueError(f"{variables.prefix}: {error}") from error


def _count(variables: BilmVariables, name: str) -> int:
    present = (variables.find(name.format(k)) in variables.shapes for k in count())
    return next(k for k, found in enumerate(present) if not found)


def _of_rank(variables: BilmVariables, dataset: str, rank: int) -> tuple[int, ...]:
    shape = variables.shape(dataset)
    if len(shape) != rank:
        raise ValueError(
            f"{variables.prefix}: the variable {variables.find(dataset)} must have "
            f"{rank} axes. Received: the shape {shape}"
        )
    return shape
