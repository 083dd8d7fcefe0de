"""The words and the softmax that an exported SavedModel may hold beside its encoder.

vocabulary.txt   the words, as published
softmax.hdf5     their rows, by the names of a pretraining directory, in float16: what
                 they score moves by less than a thousandth, for half the size

Both lie in the folder that servers ignore.
"""

import os
from typing import NamedTuple

from keras_elmo.files.published import (
    read_datasets,
    softmax_datasets,
    write_datasets,
)
from keras_elmo.files.saved_model import ASSETS, read_saved_model
from keras_elmo.files.untrusted import check_size
from keras_elmo.models.pretraining import PretrainingModel
from keras_elmo.text.vocabulary import Vocabulary


class SavedLanguageModel(NamedTuple):
    """Names the two files of an exported model."""

    vocabulary: str
    softmax: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "SavedLanguageModel":
        folder = os.path.join(path, ASSETS)
        return cls(
            os.path.join(folder, "vocabulary.txt"), os.path.join(folder, "softmax.hdf5")
        )

    def exists(self) -> bool:
        return os.path.exists(self.vocabulary)


def write_language_model(path: str | os.PathLike[str], model: PretrainingModel) -> None:
    """Writes the words and the softmax into an exported model's folder.

    Raises:
        ValueError: the model knows no words.
    """
    if model.vocabulary is None:
        raise ValueError(
            "`source` must know the words that its softmax predicts, to be exported "
            "as a language model"
        )
    files = SavedLanguageModel.of(path)
    os.makedirs(os.path.dirname(files.vocabulary), exist_ok=True)
    write_datasets(files.softmax, softmax_datasets(model.head), "float16")
    model.vocabulary.save(files.vocabulary)


def read_language_model(path: str | os.PathLike[str]) -> PretrainingModel:
    """Returns the language model of an exported SavedModel.

    It can be measured and asked; to train it on, begin a run from the folder.

    Raises:
        ValueError: the folder holds none, or is damaged.
    """
    files = SavedLanguageModel.of(path)
    if not files.exists():
        raise ValueError(
            f"{os.fspath(path)}: holds an encoder but no language model: it was "
            "exported without"
        )
    encoder = read_saved_model(path)
    vocabulary = Vocabulary.load(files.vocabulary)
    rows = len(vocabulary) * (encoder.config.projection_units + 1)
    check_size(rows, [files.softmax], files.vocabulary)
    model = PretrainingModel(encoder.config, len(vocabulary), len(vocabulary))
    read_datasets(files.softmax, softmax_datasets(model.head), files.vocabulary)
    for ours, read in zip(model.encoder.weights, encoder.weights, strict=True):
        ours.assign(read)
    model.encoder.tokenizer = encoder.tokenizer
    model.vocabulary = vocabulary
    return model
