"""Reads the folder of TensorFlow Hub's ELMo module."""

import os
from functools import cached_property
from itertools import count

import numpy as np

from keras_elmo.config import ElmoConfig
from keras_elmo.downstream.elmo_embedding import ElmoEmbedding
from keras_elmo.export.saved_model import export_saved_model
from keras_elmo.files.onnx_session import Mix
from keras_elmo.files.published import encoder_datasets
from keras_elmo.files.validation import check_size
from keras_elmo.importing.bilm_variables import MODULE, BilmVariables
from keras_elmo.importing.foreign_model import ForeignModel
from keras_elmo.models.encoder import Encoder
from keras_elmo.utils.types import Config, StrPath

_SCALARS = "aggregation/weights"
_GAMMA = "aggregation/scaling"


class HubModule(ForeignModel):
    """The folder of a module. Its encoder has the tokenizer of the published models.

    A module does not say its sizes: its variables' shapes do. What no variable shows is
    as published: clips of 3, skip connections, relu.
    """

    key = "hub"

    @cached_property
    def _variables(self) -> BilmVariables:
        return BilmVariables(os.path.join(self.path, "variables", "variables"), MODULE)

    @cached_property
    def _config(self) -> ElmoConfig:
        return read_sizes(self._variables)

    def encoder(self) -> Encoder:
        variables, config = self._variables, self._config
        check_size(config.num_weights, variables.files(), variables.prefix)
        encoder = Encoder(config, tokenizer="whitespace")
        datasets = list(encoder_datasets(encoder))
        variables.check_all_known(datasets, "the number of its other variables")
        for dataset in datasets:
            if variables.shape(dataset.name) == tuple(dataset.weight.shape):
                # With the row of id 0, the mask.
                dataset.shape = tuple(dataset.weight.shape)
            dataset.assign(variables.read_dataset(dataset))
        return encoder

    def mix(self) -> Mix:
        variables = self._variables
        shape = (1,) if variables.shapes.get(_GAMMA) == (1,) else ()
        gamma = np.reshape(variables.read(_GAMMA, shape), ())
        scalars = variables.read(_SCALARS, (self._config.num_layers + 1,))
        return scalars, gamma, False

    def describe(self) -> Config:
        return {
            "config": self._config,
            "tokenizer": "whitespace",
            "mix": self.mix(),
            "uses": ["import"],
        }

    def convert(
        self, directory: StrPath, tokenizer: str | None, vocabulary: StrPath | None
    ) -> None:
        self.refuse_words(vocabulary)
        embedding = ElmoEmbedding(self)
        embedding.encoder.tokenizer = tokenizer or embedding.encoder.tokenizer
        export_saved_model(embedding, directory)


def read_sizes(variables: BilmVariables) -> ElmoConfig:
    """Returns the sizes that the shapes of the variables say."""
    filters = []
    for k in range(_count(variables, "CNN/W_cnn_{}")):
        _, width, _, number = _of_rank(variables, f"CNN/W_cnn_{k}", 4)
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
    """Returns how many numbers in a name, from 0 on, have a variable."""
    names = (variables.find(name.format(k)) for k in count())
    return next(k for k, name in enumerate(names) if name not in variables.shapes)


def _of_rank(variables: BilmVariables, dataset: str, rank: int) -> tuple[int, ...]:
    shape = variables.shape(dataset)
    if len(shape) != rank:
        raise ValueError(
            f"{variables.prefix}: the variable {variables.find(dataset)} must have "
            f"{rank} axes. Received: the shape {shape}"
        )
    return shape
