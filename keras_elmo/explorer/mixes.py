"""Reads the mixes of trained models for the page."""

import io
import os
from collections.abc import Mapping, Sequence

from keras_elmo.downstream.callbacks import MixWeightsLogger
from keras_elmo.files.exported_sources import KerasFile
from keras_elmo.plots import last_mixes, parse_csv, read_csv
from keras_elmo.utils.reading import reading

Mixes = Sequence[Mapping[str, object]]


def read_mix_file(path: str) -> Mixes:
    """Returns the mixes in a `.keras` model or a CSV file of `MixWeightsLogger`."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    name = os.path.basename(path)
    if not KerasFile.matches(path):
        with reading(path, "holds no mix"):
            return _mixes(read_csv(path, "epoch"), name)
    model = KerasFile(path).loaded(compile=False)
    logger = MixWeightsLogger()
    logger.set_model(model)
    try:
        logger.on_train_begin()
    except ValueError as error:
        raise ValueError(f"{path}: must contain an ElmoEmbedding") from error
    logger.on_epoch_begin(0)
    return _mixes(logger.rows, name)


def parse_mix_csv(text: str, name: str) -> Mixes:
    """Returns the mixes in the text of a CSV file of `MixWeightsLogger`."""
    return _mixes(parse_csv(io.StringIO(text, newline=""), name, "epoch"), name)


def _mixes(rows: Sequence[Mapping[str, float | None]], name: str) -> Mixes:
    mixes = [
        {"task": f"{name}: {layer}", "weights": seeds[0]}
        for layer, seeds in last_mixes(rows).items()
    ]
    if not mixes:
        raise ValueError(f"{name}: has no columns NAME/layer_0, NAME/layer_1, ...")
    return mixes
