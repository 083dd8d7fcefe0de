"""A model by its name or its path, whatever kind of folder it is."""

import os
from pathlib import Path
from typing import Any

from keras_elmo.files.run_directory import PretrainingDirectory
from keras_elmo.files.saved_model import (
    is_saved_model,
    read_language_model,
    read_saved_model,
)
from keras_elmo.models.elmo_embedding import ElmoEmbedding
from keras_elmo.models.encoder import Encoder
from keras_elmo.models.pretraining import PretrainingModel

# In a source checkout, finished models lie beside the package.
_SHIPPED = Path(__file__).parents[2] / "saved_models"


def load(name_or_path: str | os.PathLike[str]) -> Encoder:
    """Returns the encoder of a shipped model or of a folder.

    Args:
        name_or_path: a pretraining directory, an exported SavedModel, or the name of a
            model under `saved_models/` of a source checkout.

    Returns:
        An `Encoder`; its `tokenizer` says what cut its training text into words.

    Raises:
        TypeError: it is neither a name nor a path.
        ValueError: there is no such model.
    """
    path = find_model(name_or_path)
    if is_saved_model(path):
        return read_saved_model(path)
    return PretrainingDirectory(path).read_encoder()


def load_language_model(name_or_path: str | os.PathLike[str]) -> PretrainingModel:
    """Returns a language model: an encoder, its softmax, and the words it predicts.

    Args:
        name_or_path: what `load` takes; a SavedModel must have been exported with its
            language model, as the shipped ones are.

    Raises:
        TypeError: it is neither a name nor a path.
        ValueError: there is no such model, it is an encoder only, or it is damaged.
    """
    path = find_model(name_or_path)
    if is_saved_model(path):
        return read_language_model(path)
    return PretrainingDirectory(path).read_model()


def find_model(name_or_path: str | os.PathLike[str]) -> Path:
    """Returns the folder of a model, which may be a shipped one's name.

    Raises:
        TypeError: it is neither a name nor a path.
        ValueError: there is no such model.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise TypeError(
            "a model must be given as a name or a path here. "
            f"Received: a {type(name_or_path).__name__}"
        )
    candidates = [Path(name_or_path)]
    if len(candidates[0].parts) == 1:
        candidates.append(_SHIPPED / name_or_path)
    for path in candidates:
        if is_saved_model(path) or PretrainingDirectory(path).holds_a_model():
            return path
    run = PretrainingDirectory(candidates[0])
    if run.holds_a_run():
        raise ValueError(
            f"{run.path}: the run has no weights yet ({run.weights}): it writes them "
            "whenever it is measured; train on until then"
        )
    raise ValueError(
        "`name_or_path` must be a pretraining directory (options.json and "
        "weights.hdf5), a folder written by export_saved_model, or a shipped model's "
        f"name, where the package is used from a source checkout: {_SHIPPED} has "
        f"{', '.join(_shipped_names()) or 'none'}. "
        f"Received: name_or_path={os.fspath(name_or_path)!r}"
    )


def _shipped_names() -> list[str]:
    return sorted(path.name for path in _SHIPPED.glob("*/") if is_saved_model(path))


def load_embedding(source: Any) -> ElmoEmbedding:
    """Returns what is exported: an encoder and its mix.

    Args:
        source: what `load` takes, an `Encoder`, or an `ElmoEmbedding`.

    Raises:
        TypeError: `source` is something else.
        ValueError: `source` is a path without a model.
    """
    if isinstance(source, str | os.PathLike):
        path = find_model(source)
        if is_saved_model(path):
            return ElmoEmbedding.from_saved_model(path)
        source = load(path)
    if isinstance(source, Encoder):
        source = ElmoEmbedding(source)
    if not isinstance(source, ElmoEmbedding):
        raise TypeError(
            "`source` must be a path, an Encoder or an ElmoEmbedding. "
            f"Received: source={source!r}"
        )
    return source
