"""Tells what a file or folder holds."""

import glob
import os
import re

from keras_elmo.files.finding import ONNX_SUFFIX, is_saved_model
from keras_elmo.files.run_directory import PretrainingDirectory, run_of_step
from keras_elmo.importing.checkpoint import find_checkpoint
from keras_elmo.importing.many_langs import is_many_langs
from keras_elmo.utils.types import StrPath

# Kinds of models, as messages name them.
RUN = "a run of keras_elmo"
STEP = "a checkpoint of a run"
EXPORTED = "an exported model"
ONNX = "an ONNX file"
CHECKPOINT = "a training folder of bilm-tf"
HUB = "a TF Hub module"
PUBLISHED = "published weights"
MANY_LANGS = "a model of ELMoForManyLangs"


def kind_of(path: StrPath) -> str:
    """Returns the kind of model that a file or folder holds.

    Raises:
        ValueError: it holds none, or several.
    """
    path = os.fspath(path)
    if is_saved_model(path):
        return EXPORTED
    if os.path.isfile(path):
        if path.endswith(ONNX_SUFFIX):
            return ONNX
        is_step = re.fullmatch(r"step-\d+\.npz", os.path.basename(path))
        if is_step and run_of_step(path).holds_a_run():
            return STEP
        if path.endswith(".zip"):
            raise ValueError(f"{path}: an archive; unpack it, and name the folder")
    run = PretrainingDirectory(path)
    if run.holds_a_run():
        return RUN
    found = []
    if find_checkpoint(path) is not None:
        found.append(CHECKPOINT)
    if os.path.isfile(os.path.join(path, "variables", "variables.index")):
        found.append(HUB)
    if is_many_langs(path):
        found.append(MANY_LANGS)
    options, weights = published_files(path)
    if options and weights:
        found.append(PUBLISHED)
    if len(found) == 1:
        return found[0]
    if not os.path.exists(path):
        raise ValueError(f"{path}: no such file or folder")
    if not found:
        raise ValueError(
            f"{path}: holds no model that is known: no options.json with weights in "
            "HDF5, no checkpoint of bilm-tf (model.ckpt-*.index), no TF Hub module "
            "(variables/variables.index), no encoder.pkl, token_embedder.pkl and "
            "config.json of ELMoForManyLangs"
        )
    raise ValueError(
        f"{path}: holds {' and '.join(found)}: `kind` must say which one to import"
    )


def published_files(path: StrPath) -> tuple[list[str], list[str]]:
    """Returns the files in a folder that look like options.json and weights.hdf5."""
    folder = glob.escape(os.fspath(path))
    options, hdf5, h5 = (
        sorted(glob.glob(os.path.join(folder, name)))
        for name in ("*options*.json", "*.hdf5", "*.h5")
    )
    return options, hdf5 + h5
