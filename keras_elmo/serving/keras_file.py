"""A tagger or a classifier in a `.keras` file, to be served."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keras

from keras_elmo.downstream.tagger import Tagger
from keras_elmo.downstream.text_classifier import TextClassifier
from keras_elmo.files.keras_file import KerasFile
from keras_elmo.utils.reading import reading
from keras_elmo.utils.types import StrPath


@contextmanager
def as_saved_model(path: StrPath) -> Iterator[Path]:
    """Exports the model of a file, for as long as the block runs.

    Raises:
        ValueError: there is another model in the file, or it is damaged.
    """
    path = os.fspath(path)
    # Raises if its config is no tagger's.
    KerasFile(path).describe()
    with reading(path):
        model = keras.saving.load_model(path)
        if not isinstance(model, Tagger | TextClassifier):
            raise ValueError(f"its model is a {type(model).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        model.export(exported := Path(folder, "model"))
        yield exported
