"""The variables of bilm-tf's files, by the names of the published datasets."""

import os
import re
from collections.abc import Iterable

import numpy as np

from keras_elmo.files.published import ENCODER_NAMES, Dataset
from keras_elmo.files.tf_checkpoint import TFCheckpoint
from keras_elmo.utils.types import StrPath

_CELL = re.compile(r"RNN_(\d)/RNN/MultiRNNCell/Cell(\d+)/LSTMCell/(W_0|B|W_P_0)")
_CELL_PARTS = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}
# The scopes of the variables.
TRAINED = "lm/"
MODULE = "bilm/"
# After the name of each weight, while it is trained.
SUMS = "/Adagrad"


class BilmVariables(TFCheckpoint):
    """The variables of a checkpoint (`TRAINED`) or of a TF Hub module (`MODULE`).

    `token_embedding` is the dataset of the tokens' table: `char_embed`, or `embedding`,
    of word ids.
    """

    def __init__(self, prefix: StrPath, scope: str) -> None:
        super().__init__(prefix)
        self.scope = scope
        kinds = ["char_embed", *(["embedding"] if scope == TRAINED else [])]
        kinds_here = [name for name in kinds if self.find(name) in self.shapes]
        if not kinds_here:
            raise ValueError(
                f"{self.prefix}: lacks the variable {scope}char_embed: it holds no "
                "variables of bilm-tf"
            )
        self.token_embedding = kinds_here[0]

    def find(self, dataset: str, suffix: str = "") -> str:
        """Returns the name of the variable that a dataset would be written from."""
        names = [self.scope + name + suffix for name in _names(dataset)]
        usual = names[0 if self.scope == TRAINED else -1]
        return next((name for name in names if name in self.shapes), usual)

    def shape(self, dataset: str) -> tuple[int, ...]:
        """Returns the shape of a variable, or raises `ValueError`."""
        name = self.find(dataset)
        if name not in self.shapes:
            raise ValueError(f"{self.prefix}: lacks the variable {name}")
        return self.shapes[name]

    def read_dataset(self, dataset: Dataset, suffix: str = "") -> np.ndarray:
        """Returns the numbers of a dataset, which must have its shape."""
        return self.read(self.find(dataset.name, suffix), dataset.shape)

    def check_all_known(self, datasets: Iterable[Dataset], described_by: str) -> None:
        """Raises `ValueError` if there are weights that no model has."""
        known = {self.find(dataset.name) for dataset in datasets}
        weights = tuple(self.scope + name for name in ENCODER_NAMES)
        for name, shape in sorted(self.shapes.items()):
            is_weight = name.startswith(weights) and not name.endswith(SUMS)
            if is_weight and name not in known:
                raise ValueError(
                    f"{self.prefix}: holds the variable {name}, {shape}, but "
                    f"{os.fspath(described_by)} describes a model without it"
                )


def _names(dataset: str) -> list[str]:
    """Returns the names that bilm-tf gives a variable: in its trainer, in its model."""
    cell = _CELL.fullmatch(dataset)
    if cell is None:
        return [dataset]
    direction, layer, part = cell[1], cell[2], _CELL_PARTS[cell[3]]
    names = [f"RNN_{direction}/rnn/multi_rnn_cell/cell_{layer}/lstm_cell/{part}"]
    if layer == "0":
        # A model of one layer.
        names.append(f"RNN_{direction}/rnn/lstm_cell/{part}")
    model = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/rnn/lstm_cell/{part}"
    return [*names, dataset, model]
